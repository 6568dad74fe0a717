// Print the headers that sign a request.
//
// SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... go run sign.go METHOD TARGET < body
package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"time"
)

// sign returns X-Signature. The target is path and query, exactly as they will be sent.
func sign(secretKey, timestamp, nonce, method, target string, body []byte) string {
	bodyHash := sha256.Sum256(body)
	text := strings.Join([]string{
		timestamp, nonce, strings.ToUpper(method), target, hex.EncodeToString(bodyHash[:]),
	}, "\n")
	mac := hmac.New(sha256.New, []byte(secretKey))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func newNonce() string {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		log.Fatal(err)
	}
	return hex.EncodeToString(random)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: sign METHOD TARGET < body")
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	timestamp := os.Getenv("SLUICE_TIMESTAMP")
	if timestamp == "" {
		timestamp = strconv.FormatInt(time.Now().Unix(), 10)
	}
	nonce := os.Getenv("SLUICE_NONCE")
	if nonce == "" {
		nonce = newNonce()
	}
	signature := sign(os.Getenv("SLUICE_SECRET_KEY"), timestamp, nonce, os.Args[1], os.Args[2], body)
	fmt.Printf("X-Api-Key: %s\n", os.Getenv("SLUICE_API_KEY"))
	fmt.Printf("X-Timestamp: %s\n", timestamp)
	fmt.Printf("X-Nonce: %s\n", nonce)
	fmt.Printf("X-Signature: %s\n", signature)
}
