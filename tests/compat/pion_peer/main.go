// The other end of a WebRTC connection, made with pion, for webrtc_pion_test.ts: sends back every
// message of the channel "data". Speaks one JSON object a line on standard input and output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/pion/webrtc/v4"
)

type line struct {
	// "offer", "answer", "candidate" or "open".
	Type      string                   `json:"type"`
	SDP       string                   `json:"sdp,omitempty"`
	Candidate *webrtc.ICECandidateInit `json:"candidate,omitempty"`
}

func say(l line) {
	text, _ := json.Marshal(l)
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The argument is "offer" when this end begins.
func main() {
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	peer, err := webrtc.NewAPI(webrtc.WithSettingEngine(settings)).
		NewPeerConnection(webrtc.Configuration{})
	must(err)
	data := open(peer, "data", 0)
	open(peer, "negotiation", 1)
	data.OnOpen(func() { say(line{Type: "open"}) })
	data.OnMessage(func(message webrtc.DataChannelMessage) { must(data.Send(message.Data)) })
	data.OnClose(func() { os.Exit(0) })
	peer.OnICECandidate(func(candidate *webrtc.ICECandidate) {
		if candidate != nil {
			init := candidate.ToJSON()
			say(line{Type: "candidate", Candidate: &init})
		}
	})
	if os.Args[1] == "offer" {
		offer, err := peer.CreateOffer(nil)
		must(err)
		must(peer.SetLocalDescription(offer))
		say(line{Type: "offer", SDP: offer.SDP})
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var said line
		must(json.Unmarshal(lines.Bytes(), &said))
		hear(peer, said)
	}
	must(peer.Close())
}

func open(peer *webrtc.PeerConnection, label string, id uint16) *webrtc.DataChannel {
	yes := true
	channel, err := peer.CreateDataChannel(label, &webrtc.DataChannelInit{
		ID: &id, Negotiated: &yes, Ordered: &yes,
	})
	must(err)
	return channel
}

func hear(peer *webrtc.PeerConnection, said line) {
	switch said.Type {
	case "offer":
		must(peer.SetRemoteDescription(webrtc.SessionDescription{
			Type: webrtc.SDPTypeOffer, SDP: said.SDP,
		}))
		answer, err := peer.CreateAnswer(nil)
		must(err)
		must(peer.SetLocalDescription(answer))
		say(line{Type: "answer", SDP: answer.SDP})
	case "answer":
		must(peer.SetRemoteDescription(webrtc.SessionDescription{
			Type: webrtc.SDPTypeAnswer, SDP: said.SDP,
		}))
	case "candidate":
		must(peer.AddICECandidate(*said.Candidate))
	}
}
