// Receive webhooks on this machine: check the signature, drop repetitions, answer, then act.
//
// WEBHOOK_HASH_KEY=whk_... go run receiver.go 9000
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
)

type event struct {
	ID   string `json:"event_id"`
	Kind string `json:"event"`
	Data struct {
		Reference string `json:"reference"`
		Status    string `json:"status"`
		Summary   string `json:"response_summary"`
	} `json:"data"`
}

var (
	hashKey = os.Getenv("WEBHOOK_HASH_KEY")
	seen    sync.Map // in a real service: a database column that is unique
)

// isGenuine compares the X-Service-Signature header with our own, in constant time.
func isGenuine(signature string, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(hashKey))
	mac.Write(body)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(signature))
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || !isGenuine(r.Header.Get("X-Service-Signature"), body) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Println("refused: wrong signature")
		return
	}
	var received event
	if err := json.Unmarshal(body, &received); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, isOld := seen.LoadOrStore(received.ID, true)
	w.WriteHeader(http.StatusNoContent)
	if !isOld {
		fmt.Println(received.Kind, received.Data.Reference, received.Data.Status, received.Data.Summary)
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: receiver PORT")
	}
	address := "127.0.0.1:" + os.Args[1]
	http.HandleFunc("/", receive)
	fmt.Println("Listening on http://" + address)
	log.Fatal(http.ListenAndServe(address, nil))
}
