// The first part of an application image: starts the program that is packed behind it.
//
// It behaves as the runtime of AppImages of type 2 does, without FUSE: the content is unpacked once
// into a cache and started from there. https://github.com/AppImage/AppImageSpec
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Set when it is built.
var version = "unknown"

const help = `An application image: a program with everything that it needs, in one file.

  --appimage-extract [PATTERN]       unpack it into squashfs-root/ here
  --appimage-extract-and-run         start it, as without this option: it is unpacked once into
                                     /var/cache/machine-server (root) or ~/.cache/machine-server
  --appimage-offset                  print where the packed content begins, in bytes
  --appimage-version                 print the version of the image
  --appimage-help                    this text

All other options are the program's. MACHINE_IMAGE_CACHE names another folder to unpack into.
`

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "machine-server: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	own, err := ownPath()
	if err != nil {
		return err
	}
	image, err := openImage(own)
	if err != nil {
		return err
	}
	rest := args[1:]
	if len(rest) > 0 {
		switch rest[0] {
		case "--appimage-help":
			fmt.Print(help)
			return nil
		case "--appimage-version":
			fmt.Printf("Version: %s\n", version)
			return nil
		case "--appimage-offset":
			fmt.Println(image.offset)
			return nil
		case "--appimage-extract":
			return extractHere(image, rest[1:])
		case "--appimage-extract-and-run":
			rest = rest[1:]
		case "--appimage-mount":
			return errors.New("this image is not mounted; --appimage-extract unpacks it here")
		default:
			if strings.HasPrefix(rest[0], "--appimage-") {
				return fmt.Errorf("there is no option %s; --appimage-help lists all", rest[0])
			}
		}
	}
	folder, err := unpacked(image)
	if err != nil {
		return err
	}
	return start(own, folder, args[0], rest)
}

// The file that runs, also where it was started through a link.
func ownPath() (string, error) {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("/proc is needed to find the image: %w", err)
	}
	if strings.HasSuffix(path, " (deleted)") {
		return "", errors.New("the image was replaced or removed while it started; start it again")
	}
	return path, nil
}

func extractHere(image *image, patterns []string) error {
	pattern := ""
	if len(patterns) > 0 {
		pattern = patterns[0]
	}
	content, err := image.content()
	if err != nil {
		return err
	}
	if err := content.extract("squashfs-root", pattern); err != nil {
		return fmt.Errorf("cannot unpack into squashfs-root: %w", err)
	}
	fmt.Println("squashfs-root")
	return nil
}

// Becomes the program: the same process, so that service managers see no difference.
func start(own, folder, name string, args []string) error {
	program := filepath.Join(folder, "AppRun")
	work, err := os.Getwd()
	if err == nil {
		os.Setenv("OWD", work)
	}
	os.Setenv("APPIMAGE", own)
	os.Setenv("APPDIR", folder)
	os.Setenv("ARGV0", name)
	err = syscall.Exec(program, append([]string{program}, args...), os.Environ())
	if errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("programs may not run in %s (is it mounted with noexec?); set "+
			"MACHINE_IMAGE_CACHE to a folder where they may", folder)
	}
	return fmt.Errorf("cannot start %s: %w", program, err)
}
