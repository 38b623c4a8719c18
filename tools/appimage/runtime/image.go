package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/squashfs"
)

// The file ends with this and the SHA-256 of the packed content.
const trailerMark = "machine image 1\n"

const trailerBytes = int64(len(trailerMark) + sha256.Size)

// Bytes of squashfs that are kept unpacked; the content is read once, from front to end.
const readCache = 4 << 20

type image struct {
	path   string
	file   *os.File
	offset int64
	size   int64
	digest string
}

// Opens the image that a file is. What is behind the ELF file is its content.
func openImage(path string) (*image, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	whole, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	offset, err := elfEnd(opened)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	trailer := make([]byte, trailerBytes)
	size := whole.Size() - offset - trailerBytes
	if size <= 0 {
		return nil, damaged(path)
	}
	if _, err := opened.ReadAt(trailer, offset+size); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(trailer, []byte(trailerMark)) {
		return nil, damaged(path)
	}
	digest := hex.EncodeToString(trailer[len(trailerMark):])
	return &image{path, opened, offset, size, digest}, nil
}

func damaged(path string) error {
	return fmt.Errorf("%s is damaged or cut off: download it again", path)
}

// Where the section header table ends; it is the last part of the file, as tools for images expect.
func elfEnd(file io.ReaderAt) (int64, error) {
	header := make([]byte, 64)
	if _, err := file.ReadAt(header, 0); err != nil {
		return 0, err
	}
	if string(header[:4]) != elf.ELFMAG {
		return 0, errors.New("this is no ELF file")
	}
	little := func(at, length int) int64 {
		value := int64(0)
		for i := length - 1; i >= 0; i-- {
			value = value<<8 | int64(header[at+i])
		}
		return value
	}
	return little(0x28, 8) + little(0x3a, 2)*little(0x3c, 2), nil
}

// Whether the content is what was packed.
func (i *image) check() error {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(i.file, i.offset, i.size)); err != nil {
		return fmt.Errorf("cannot read %s: %w", i.path, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != i.digest {
		return damaged(i.path)
	}
	return nil
}

type content struct {
	fs *squashfs.FileSystem
}

// The content, after it was checked.
func (i *image) content() (*content, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	fs, err := squashfs.Read(file.New(i.file, true), i.size, i.offset, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot read the content of %s: %w", i.path, err)
	}
	fs.SetCacheSize(readCache)
	return &content{fs}, nil
}

// Bytes of all files.
func (c *content) bytes() (int64, error) {
	total := int64(0)
	err := c.walk(".", func(_ string, info iofs.FileInfo) error {
		if info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total, err
}

// Unpacks into a folder. With a pattern only what matches it, and what is below that.
func (c *content) extract(folder, pattern string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return c.walk(".", func(name string, info iofs.FileInfo) error {
		target := filepath.Join(folder, name)
		if info.IsDir() {
			if pattern != "" {
				return nil
			}
			return os.MkdirAll(target, 0o755)
		}
		if !matches(name, pattern) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		// What an earlier run left could be a link to elsewhere.
		if err := os.Remove(target); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			link, ok := info.(interface{ Readlink() (string, error) })
			if !ok {
				return fmt.Errorf("cannot read the link %s", name)
			}
			to, err := link.Readlink()
			if err != nil {
				return err
			}
			return os.Symlink(to, target)
		}
		return c.copy(name, target, info.Mode().Perm())
	})
}

func matches(name, pattern string) bool {
	if pattern == "" {
		return true
	}
	pattern = strings.TrimPrefix(pattern, "./")
	for at := name; at != "."; at = path.Dir(at) {
		if ok, err := path.Match(pattern, at); ok && err == nil {
			return true
		}
	}
	return false
}

func (c *content) copy(name, target string, mode os.FileMode) error {
	from, err := c.fs.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.CopyBuffer(to, struct{ io.Reader }{from}, make([]byte, 1<<20)); err != nil {
		to.Close()
		return err
	}
	// A power cut must not leave a whole name with half of a program.
	if err := to.Sync(); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

func (c *content) walk(name string, visit func(string, iofs.FileInfo) error) error {
	entries, err := c.fs.ReadDir(name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		inner := path.Join(name, entry.Name())
		if err := visit(inner, info); err != nil {
			return err
		}
		if info.IsDir() {
			if err := c.walk(inner, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
