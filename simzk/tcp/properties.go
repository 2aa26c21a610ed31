package tcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// properties are the contents of a configuration file: a Java properties file without escapes.
type properties struct {
	path    string
	values  map[string]property
	members []property // the server.N lines
}

// A property is a line of a configuration file. Its line is 0 if the key is absent.
type property struct {
	path       string
	line       int
	key, value string
}

// wrap adds the property's file, line and key to an error.
func (p property) wrap(err error) error {
	return fmt.Errorf("%s:%d: %s: %w", p.path, p.line, p.key, err)
}

// get returns the last property with a key.
func (p *properties) get(key string) property { return p.values[key] }

func readProperties(path string) (*properties, error) {
	content, err := readFile(path)
	if err != nil {
		return nil, err
	}
	p := &properties{path: path, values: make(map[string]property)}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value := splitProperty(line)
		read := property{path: path, line: number, key: key, value: value}
		if strings.HasPrefix(key, "server.") {
			p.members = append(p.members, read)
		} else {
			p.values[key] = read
		}
	}
	return p, nil
}

// splitProperty splits a line at the first equals sign, colon or blank (java.util.Properties).
func splitProperty(line string) (key, value string) {
	end := strings.IndexAny(line, "=: \t\f")
	if end < 0 {
		return line, ""
	}
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = value[1:]
	}
	return line[:end], strings.TrimSpace(value)
}

// readFile reads a regular file. It refuses other files, because reading a pipe could block
// forever.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	return os.ReadFile(path)
}

var errNotRegular = errors.New("it is no regular file")
