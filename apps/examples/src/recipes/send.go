// Sends a message and waits for its end. URL and KEY come from the environment.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

type message struct {
	ID     int    `json:"id"`
	Status string `json:"status"`
}

func api(method, path, body, key string) (answer message) {
	request, err := http.NewRequest(method, os.Getenv("URL")+path, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		var refusal struct{ Error struct{ Code, Message string } }
		json.NewDecoder(response.Body).Decode(&refusal)
		log.Fatalf("%s: %s", refusal.Error.Code, refusal.Error.Message)
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	return answer
}

func main() {
	order := `{"to": {"phone": "+15550100002"}, "text": "Your order has left."}`
	sent := api("POST", "/api/v2/messages", order, "order-4711")
	for sent.Status == "queued" {
		time.Sleep(200 * time.Millisecond)
		sent = api("GET", fmt.Sprintf("/api/v2/messages/%d", sent.ID), "", "")
	}
	fmt.Println(sent.Status)
}
