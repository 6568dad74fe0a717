// Tell whether a webhook is genuine.
//
// WEBHOOK_HASH_KEY=whk_... go run verify.go SIGNATURE < body
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"os"
)

// isGenuine compares the X-Service-Signature header with our own, in constant time.
func isGenuine(hashKey, signature string, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(hashKey))
	mac.Write(body)
	expected := hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature))
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: verify SIGNATURE < body")
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	if !isGenuine(os.Getenv("WEBHOOK_HASH_KEY"), os.Args[1], body) {
		fmt.Println("invalid")
		os.Exit(1)
	}
	fmt.Println("valid")
}
