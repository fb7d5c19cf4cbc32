package httpd

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"tidemill/runtime"
)

// Tokens are those that a server knows, by their hashes. They are immutable and safe for concurrent use.
type Tokens struct{ list []tokenLine }

type tokenLine struct {
	access runtime.Access
	name   string
	hash   [sha256.Size]byte
}

// hashPrefix names the hash in a line, so that another can follow one day. A token is 256 random bits: a slow hash
// would add nothing.
const hashPrefix = "sha256:"

// tokenPrefix begins every token, for tools that look for secrets in files.
const tokenPrefix = "tidemill_"

// NewToken makes a token and its line for a token file. The access is read, write or admin; the name tells whose it is.
func NewToken(access, name string) (token, line string, err error) {
	if _, ok := accessOf(access); !ok {
		return "", "", fmt.Errorf("access %q: give read, write or admin", access)
	}
	if name == "" || strings.ContainsAny(name, " \t\r\n#") {
		return "", "", fmt.Errorf("name %q: give a word without blanks and #", name)
	}
	var secret [32]byte
	rand.Read(secret[:]) //nolint:errcheck // it does not fail
	token = tokenPrefix + hex.EncodeToString(secret[:])
	hash := sha256.Sum256([]byte(token))
	return token, access + " " + name + " " + hashPrefix + hex.EncodeToString(hash[:]), nil
}

func accessOf(word string) (runtime.Access, bool) {
	for a, w := range accessNames {
		if w == word {
			return a, true
		}
	}
	return 0, false
}

// ReadTokens reads a token file: a line for each token, with its access, its name and its hash. Empty lines and
// those that begin with # are left out. An error names the line.
func ReadTokens(path string) (*Tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	defer f.Close()
	t, err := parseTokens(f)
	if err != nil {
		return nil, fmt.Errorf("token file %s, %w", path, err)
	}
	return t, nil
}

func parseTokens(r io.Reader) (*Tokens, error) {
	t := &Tokens{}
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		text := strings.TrimSpace(scan.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		words := strings.Fields(text)
		if len(words) != 3 {
			return nil, fmt.Errorf("line %d: %d words: a line is access, name and hash; make it with tidemill token", n, len(words))
		}
		access, ok := accessOf(words[0])
		if !ok {
			return nil, fmt.Errorf("line %d: access %q: it is read, write or admin", n, words[0])
		}
		hash, err := hex.DecodeString(strings.TrimPrefix(words[2], hashPrefix))
		if err != nil || len(hash) != sha256.Size || !strings.HasPrefix(words[2], hashPrefix) {
			return nil, fmt.Errorf("line %d: the hash is not %s and 64 hexadecimal digits; make it with tidemill token", n, hashPrefix)
		}
		t.list = append(t.list, tokenLine{access, words[1], [sha256.Size]byte(hash)})
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(t.list) == 0 {
		return nil, fmt.Errorf("line 1: there is no token, so nobody could come in; make one with tidemill token")
	}
	return t, nil
}

// find returns what a token may do. It looks at every line and at every byte of each, so that the time tells nothing.
func (t *Tokens) find(token string) (access runtime.Access, name string, ok bool) {
	hash := sha256.Sum256([]byte(token))
	at := -1
	for i := range t.list {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], t.list[i].hash[:]), i, at)
	}
	if at < 0 {
		return 0, "", false
	}
	return t.list[at].access, t.list[at].name, true
}
