package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const noExec = 0x8 // ST_NOEXEC, statvfs(3)

// Room that is left to others. Bytes.
const spareBytes = 10_000_000

// The folder with the image's unpacked content, which is kept for the next start.
func unpacked(image *image) (string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "image-"+image.digest[:16])
	if !hold(folder) {
		if err := unpack(image, cache, folder); err != nil {
			return "", err
		}
		if !hold(folder) {
			return "", fmt.Errorf("%s was removed while it was unpacked; start it again", folder)
		}
	}
	removeOthers(cache, folder)
	return folder, nil
}

// Nobody else may write there: what lies in it is run.
func cacheFolder() (string, error) {
	cache := os.Getenv("MACHINE_IMAGE_CACHE")
	if cache == "" && os.Geteuid() == 0 {
		cache = "/var/cache/machine-server"
	}
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", errors.New("there is no home folder to unpack into: set MACHINE_IMAGE_CACHE to a folder")
		}
		cache = filepath.Join(user, "machine-server")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("cannot unpack into %s (%v): set MACHINE_IMAGE_CACHE to another folder",
			cache, reason(err))
	}
	info, err := os.Stat(cache)
	if err != nil {
		return "", err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	if int(owner) != os.Geteuid() && owner != 0 || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("others may write into %s, and could change the program: set "+
			"MACHINE_IMAGE_CACHE to a folder of yours", cache)
	}
	return cache, nil
}

// Unpacks next to the target and renames, so that a folder of that name is always whole.
func unpack(image *image, cache, folder string) error {
	content, err := image.content()
	if err != nil {
		return err
	}
	needed, err := content.bytes()
	if err != nil {
		return err
	}
	var room syscall.Statfs_t
	if err := syscall.Statfs(cache, &room); err == nil {
		if room.Flags&noExec != 0 {
			return fmt.Errorf("programs may not run in %s (it is mounted with noexec): set "+
				"MACHINE_IMAGE_CACHE to a folder where they may", cache)
		}
		free := int64(room.Bavail) * int64(room.Bsize)
		if free < needed+spareBytes {
			return fmt.Errorf("%s has %d MB free, and %d MB are needed: make room, or set "+
				"MACHINE_IMAGE_CACHE to a folder with more", cache, free/1e6, (needed+spareBytes)/1e6)
		}
	}
	work, err := os.MkdirTemp(cache, ".unpacking-")
	if err != nil {
		return fmt.Errorf("cannot unpack into %s (%v): set MACHINE_IMAGE_CACHE to another folder",
			cache, reason(err))
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil {
		return err
	}
	if err := content.extract(work, ""); err != nil {
		return fmt.Errorf("cannot unpack into %s: %v", cache, reason(err))
	}
	if err := checkLibc(filepath.Join(work, "AppRun")); err != nil {
		return err
	}
	err = os.Rename(work, folder)
	// Another start was first, with the same content.
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}

// Marks a folder as in use for as long as the program and what it starts run: the lock goes with
// the open file. False when there is no such folder.
func hold(folder string) bool {
	descriptor, err := syscall.Open(folder, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	_ = syscall.Flock(descriptor, syscall.LOCK_SH|syscall.LOCK_NB)
	// Whoever removes it renames it first.
	if _, err := os.Stat(filepath.Join(folder, "AppRun")); err != nil {
		syscall.Close(descriptor)
		return false
	}
	return true
}

// Removes what other versions unpacked and nobody runs, and what was left half done.
func removeOthers(cache, keep string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, entry := range entries {
		folder := filepath.Join(cache, entry.Name())
		if folder == keep || !strings.HasPrefix(entry.Name(), "image-") {
			continue
		}
		descriptor, err := syscall.Open(folder, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			gone := filepath.Join(cache, ".removing-"+entry.Name())
			if os.Rename(folder, gone) == nil {
				os.RemoveAll(gone)
			}
		}
		syscall.Close(descriptor)
	}
}

// The words of an error without what it was done to.
func reason(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}
