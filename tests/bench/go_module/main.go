// A module that does next to nothing, to measure what passing calls on to it costs. It answers
// Ready with the bytes in READY_RESPONSE (base64) and every other call with an empty message.
// Arguments: those of every module; the first is the socket it listens on.
package main

import (
	"encoding/base64"
	"log"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
)

// rawCodec leaves messages as the bytes they came in.
type rawCodec struct{}

func (rawCodec) Name() string                    { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }

func main() {
	ready, err := base64.StdEncoding.DecodeString(os.Getenv("READY_RESPONSE"))
	if err != nil {
		log.Fatal("READY_RESPONSE: ", err)
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	answer := func(_ any, stream grpc.ServerStream) error {
		var request, response []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		method, _ := grpc.MethodFromServerStream(stream)
		if strings.HasSuffix(method, "/Ready") {
			response = ready
		}
		return stream.SendMsg(&response)
	}
	log.Fatal(grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(answer)).Serve(listener))
}
