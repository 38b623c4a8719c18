package main

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Says which C library a program needs where this host has another or an older one.
func checkLibc(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return nil // A script, for example: its own start says what is wrong.
	}
	defer file.Close()
	loader := interpreter(file)
	if loader == "" {
		return nil
	}
	needed := neededGlibc(file)
	resolved, err := filepath.EvalSymlinks(loader)
	if err != nil {
		other := ""
		if found, _ := filepath.Glob("/lib/ld-musl-*"); len(found) > 0 {
			other = " (it has musl, as Alpine Linux does)"
		}
		return fmt.Errorf("this host has no glibc%s: the program needs glibc %s or newer", other, needed)
	}
	has := providedGlibc(filepath.Join(filepath.Dir(resolved), "libc.so.6"))
	if has != "" && older(has, needed) {
		return fmt.Errorf("the glibc of this host is too old: it is %s, and the program needs %s or newer",
			has, needed)
	}
	return nil
}

func interpreter(file *elf.File) string {
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			text, err := io.ReadAll(part.Open())
			if err == nil {
				return strings.TrimRight(string(text), "\x00")
			}
		}
	}
	return ""
}

func neededGlibc(file *elf.File) string {
	newest := "2.0"
	needs, err := file.DynamicVersionNeeds()
	if err != nil {
		return newest
	}
	for _, library := range needs {
		for _, need := range library.Needs {
			newest = newer(newest, need.Dep)
		}
	}
	return newest
}

func providedGlibc(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	versions, err := file.DynamicVersions()
	if err != nil {
		return ""
	}
	newest := ""
	for _, version := range versions {
		newest = newer(newest, version.Name)
	}
	return newest
}

// The newer of a version and that of a symbol version such as GLIBC_2.34.
func newer(version, name string) string {
	number, ok := strings.CutPrefix(name, "GLIBC_2.")
	if !ok {
		return version
	}
	if _, err := strconv.Atoi(strings.SplitN(number, ".", 2)[0]); err != nil {
		return version
	}
	if version == "" || older(version, "2."+number) {
		return "2." + number
	}
	return version
}

func older(a, b string) bool {
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(left), len(right)) {
		if x, y := numberAt(left, i), numberAt(right, i); x != y {
			return x < y
		}
	}
	return false
}

func numberAt(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	number, _ := strconv.Atoi(parts[i])
	return number
}
