// What a program of go-amqp gets: `answers URL` prints each case, a tab and its answer.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	amqp "github.com/Azure/go-amqp"
)

const (
	comes   = 20 * time.Second // how long a case waits for what comes
	nothing = 700 * time.Millisecond
)

type step func(context.Context, *amqp.Session) (string, error)

var cases = []struct {
	name string
	step step
}{
	{"a thousand messages, one after another", thousand},
	{"what a message carries", carried},
	{"a body of 5 MB", big},
	{"messages that are sent settled", settled},
	{"messages that are given settled", given},
	{"a message that is given back", givenBack},
	{"a message that failed", failed},
	{"a message that is rejected", rejected},
	{"credit by hand, which is then taken back", byHand},
	{"a selector on a receiver", selector},
	{"a filter of another kind", filtered},
	{"an address that is not had here", nowhere},
	{"a queue of its own", dynamic},
	{"a subject and two subscribers", subject},
	{"a subscription that is kept", kept},
	{"a message with a footer", footer},
}

func main() {
	answers := make([]chan string, len(cases))
	for i, each := range cases { // beside each other
		answers[i] = make(chan string, 1)
		go func(answer chan<- string, step step) { answer <- answerOf(step) }(answers[i], each.step)
	}
	for i, each := range cases {
		fmt.Printf("%s\t%s\n", each.name, <-answers[i])
	}
}

func answerOf(step step) string {
	ctx, cancel := context.WithTimeout(context.Background(), 240*time.Second)
	defer cancel()
	answer, err := run(ctx, step)
	if err != nil {
		return "refused, " + why(err)
	}
	return answer
}

func run(ctx context.Context, step step) (string, error) {
	conn, err := amqp.Dial(ctx, os.Args[1], &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous()})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		return "", err
	}
	return step(ctx, session)
}

func why(err error) string {
	var said *amqp.Error
	var link *amqp.LinkError
	if errors.As(err, &link) && link.RemoteErr != nil {
		said = link.RemoteErr
	} else {
		errors.As(err, &said)
	}
	if said == nil {
		return err.Error()
	}
	return fmt.Sprintf("%s: %s", said.Condition, said.Description)
}

func send(ctx context.Context, s *amqp.Session, to string, texts ...string) error {
	sender, err := s.NewSender(ctx, to, nil)
	if err != nil {
		return err
	}
	for _, text := range texts {
		if err := sender.Send(ctx, amqp.NewMessage([]byte(text)), nil); err != nil {
			return err
		}
	}
	return sender.Close(ctx)
}

// next is a message and how often it was given in vain, or "nothing".
func next(ctx context.Context, from *amqp.Receiver, wait time.Duration) (*amqp.Message, string) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := from.Receive(limited, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, "nothing"
	}
	if err != nil {
		return nil, why(err)
	}
	count := uint32(0)
	if m.Header != nil {
		count = m.Header.DeliveryCount
	}
	return m, fmt.Sprintf("%s/%d", m.GetData(), count)
}

func read(ctx context.Context, from *amqp.Receiver, many int) string {
	found := ""
	for i := 0; i < many; i++ {
		m, text := next(ctx, from, comes)
		if m != nil {
			if err := from.AcceptMessage(ctx, m); err != nil {
				return why(err)
			}
		}
		found += text + " "
	}
	_, more := next(ctx, from, nothing)
	return found + "and then " + more
}

func thousand(ctx context.Context, s *amqp.Session) (string, error) {
	sender, err := s.NewSender(ctx, "thousand", nil)
	if err != nil {
		return "", err
	}
	for i := 0; i < 1000; i++ {
		if err := sender.Send(ctx, amqp.NewMessage([]byte(fmt.Sprint(i))), nil); err != nil {
			return "", err
		}
	}
	receiver, err := s.NewReceiver(ctx, "thousand", &amqp.ReceiverOptions{Credit: 100})
	if err != nil {
		return "", err
	}
	for i := 0; i < 1000; i++ {
		m, err := receiver.Receive(ctx, nil)
		if err != nil {
			return "", err
		}
		if string(m.GetData()) != fmt.Sprint(i) {
			return fmt.Sprintf("found %s in place of %d", m.GetData(), i), nil
		}
		if err := receiver.AcceptMessage(ctx, m); err != nil {
			return "", err
		}
	}
	_, left := next(ctx, receiver, nothing)
	return "1000, in order; left " + left, nil
}

func carried(ctx context.Context, s *amqp.Session) (string, error) {
	sender, err := s.NewSender(ctx, "carried", nil)
	if err != nil {
		return "", err
	}
	subject, back, kind := "note", "answers", "text/plain"
	sent := amqp.NewMessage([]byte("x"))
	sent.Header = &amqp.MessageHeader{Durable: true, Priority: 7}
	sent.Properties = &amqp.MessageProperties{MessageID: uint64(1) << 60, CorrelationID: amqp.UUID{1}, Subject: &subject, ReplyTo: &back, ContentType: &kind}
	sent.ApplicationProperties = map[string]any{"colour": "red", "n": int64(-1), "at": time.UnixMilli(1_700_000_000_000).UTC()}
	sent.Annotations = amqp.Annotations{"x-opt-mine": "kept"}
	if err := sender.Send(ctx, sent, nil); err != nil {
		return "", err
	}
	receiver, err := s.NewReceiver(ctx, "carried", nil)
	if err != nil {
		return "", err
	}
	m, text := next(ctx, receiver, comes)
	p := m.Properties
	return fmt.Sprintf("%s durable %v priority %d id %v correlation %v subject %s answers %s type %s; %v %v %v; annotation %v", text, m.Header.Durable, m.Header.Priority,
		p.MessageID, p.CorrelationID, *p.Subject, *p.ReplyTo, *p.ContentType, m.ApplicationProperties["colour"], m.ApplicationProperties["n"],
		m.ApplicationProperties["at"].(time.Time).UnixMilli(), m.Annotations["x-opt-mine"]), receiver.AcceptMessage(ctx, m)
}

func big(ctx context.Context, s *amqp.Session) (string, error) {
	body := bytes.Repeat([]byte{1, 2, 3, 4, 5}, 1_000_000)
	if err := send(ctx, s, "big", string(body)); err != nil {
		return "", err
	}
	receiver, err := s.NewReceiver(ctx, "big", nil)
	if err != nil {
		return "", err
	}
	m, err := receiver.Receive(ctx, nil)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the same %v", bytes.Equal(body, m.GetData())), receiver.AcceptMessage(ctx, m)
}

func settled(ctx context.Context, s *amqp.Session) (string, error) {
	sender, err := s.NewSender(ctx, "settled", &amqp.SenderOptions{SettlementMode: amqp.SenderSettleModeSettled.Ptr()})
	if err != nil {
		return "", err
	}
	for _, text := range []string{"a", "b", "c"} {
		if err := sender.Send(ctx, amqp.NewMessage([]byte(text)), nil); err != nil {
			return "", err
		}
	}
	receiver, err := s.NewReceiver(ctx, "settled", nil)
	if err != nil {
		return "", err
	}
	return read(ctx, receiver, 3), nil
}

func given(ctx context.Context, s *amqp.Session) (string, error) {
	if err := send(ctx, s, "given", "a", "b"); err != nil {
		return "", err
	}
	receiver, err := s.NewReceiver(ctx, "given", &amqp.ReceiverOptions{RequestedSenderSettleMode: amqp.SenderSettleModeSettled.Ptr(), Credit: 1})
	if err != nil {
		return "", err
	}
	_, a := next(ctx, receiver, comes)
	_, b := next(ctx, receiver, comes)
	return a + " " + b, nil
}

// again gives a message back in some way, twice, and says how it came.
func again(ctx context.Context, s *amqp.Session, queue string, back func(*amqp.Receiver, *amqp.Message) error) (string, error) {
	if err := send(ctx, s, queue, "a"); err != nil {
		return "", err
	}
	receiver, err := s.NewReceiver(ctx, queue, &amqp.ReceiverOptions{Credit: 1})
	if err != nil {
		return "", err
	}
	found := ""
	for i := 0; i < 2; i++ {
		m, text := next(ctx, receiver, comes)
		found += text + ", "
		if m == nil {
			return found, nil
		}
		if err := back(receiver, m); err != nil {
			return "", err
		}
	}
	m, text := next(ctx, receiver, 3*time.Second)
	if m != nil {
		err = receiver.AcceptMessage(ctx, m)
	}
	return found + text, err
}

func givenBack(ctx context.Context, s *amqp.Session) (string, error) {
	return again(ctx, s, "given-back", func(r *amqp.Receiver, m *amqp.Message) error { return r.ReleaseMessage(ctx, m) })
}

func failed(ctx context.Context, s *amqp.Session) (string, error) {
	return again(ctx, s, "failed", func(r *amqp.Receiver, m *amqp.Message) error {
		return r.ModifyMessage(ctx, m, &amqp.ModifyMessageOptions{DeliveryFailed: true})
	})
}

func rejected(ctx context.Context, s *amqp.Session) (string, error) {
	if err := send(ctx, s, "rejected", "a", "b"); err != nil {
		return "", err
	}
	receiver, err := s.NewReceiver(ctx, "rejected", &amqp.ReceiverOptions{Credit: 1})
	if err != nil {
		return "", err
	}
	m, a := next(ctx, receiver, comes)
	if err := receiver.RejectMessage(ctx, m, &amqp.Error{Condition: "shop:bad", Description: "no such customer"}); err != nil {
		return "", err
	}
	return a + "; " + read(ctx, receiver, 1), nil
}

func byHand(ctx context.Context, s *amqp.Session) (string, error) {
	if err := send(ctx, s, "by-hand", "a", "b", "c"); err != nil {
		return "", err
	}
	receiver, err := s.NewReceiver(ctx, "by-hand", &amqp.ReceiverOptions{Credit: -1})
	if err != nil {
		return "", err
	}
	_, before := next(ctx, receiver, nothing)
	if err := receiver.IssueCredit(2); err != nil {
		return "", err
	}
	found := read(ctx, receiver, 2)
	if err := receiver.IssueCredit(5); err != nil {
		return "", err
	}
	found += "; with five more " + read(ctx, receiver, 1)
	if err := receiver.DrainCredit(ctx, nil); err != nil {
		return "", err
	}
	if err := send(ctx, s, "by-hand", "d"); err != nil {
		return "", err
	}
	_, after := next(ctx, receiver, nothing)
	return fmt.Sprintf("without credit %s; with two %s; drained %s", before, found, after), nil
}

func selector(ctx context.Context, s *amqp.Session) (string, error) {
	return chosen(ctx, s, "apache.org:selector-filter:string", amqp.NewSelectorFilter("colour = 'red'"))
}

func filtered(ctx context.Context, s *amqp.Session) (string, error) {
	return chosen(ctx, s, "shop:filter", amqp.NewLinkFilter("shop:filter", 0, "x"))
}

func chosen(ctx context.Context, s *amqp.Session, name string, filter amqp.LinkFilter) (string, error) {
	receiver, err := s.NewReceiver(ctx, "chosen", &amqp.ReceiverOptions{Filters: []amqp.LinkFilter{filter}})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("accepted, told of the filter %v", receiver.LinkSourceFilterValue(name)), nil
}

func nowhere(ctx context.Context, s *amqp.Session) (string, error) {
	_, err := s.NewSender(ctx, "$management", nil)
	return "accepted", err
}

func dynamic(ctx context.Context, s *amqp.Session) (string, error) {
	receiver, err := s.NewReceiver(ctx, "", &amqp.ReceiverOptions{DynamicAddress: true})
	if err != nil {
		return "", err
	}
	if err := send(ctx, s, receiver.Address(), "x"); err != nil {
		return "", err
	}
	return read(ctx, receiver, 1), nil
}

// topic is how a receiver says that an address is a subject, and that it is a subscriber of its own.
var topic = amqp.ReceiverOptions{SourceCapabilities: []string{"topic"}, Credit: 10}

func publish(ctx context.Context, s *amqp.Session, to string, texts ...string) error {
	sender, err := s.NewSender(ctx, to, &amqp.SenderOptions{TargetCapabilities: []string{"topic"}})
	if err != nil {
		return err
	}
	for _, text := range texts {
		m := amqp.NewMessage([]byte(text))
		m.Header = &amqp.MessageHeader{Durable: true}
		if err := sender.Send(ctx, m, nil); err != nil {
			return err
		}
	}
	return nil
}

func subject(ctx context.Context, s *amqp.Session) (string, error) {
	one, err := s.NewReceiver(ctx, "news.go", &topic)
	if err != nil {
		return "", err
	}
	other, err := s.NewReceiver(ctx, "news.go", &topic)
	if err != nil {
		return "", err
	}
	if err := publish(ctx, s, "news.go", "x", "y"); err != nil {
		return "", err
	}
	return read(ctx, one, 2) + "; " + read(ctx, other, 2), nil
}

func kept(ctx context.Context, _ *amqp.Session) (string, error) {
	found := ""
	options := topic
	options.Name, options.SourceDurability, options.SourceExpiryPolicy = "mine", amqp.DurabilityUnsettledState, amqp.ExpiryPolicyNever
	for i := 0; i < 2; i++ {
		conn, err := amqp.Dial(ctx, os.Args[1], &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), ContainerID: "keeper"})
		if err != nil {
			return "", err
		}
		s, err := conn.NewSession(ctx, nil)
		if err != nil {
			return "", err
		}
		receiver, err := s.NewReceiver(ctx, "news.kept", &options)
		if err != nil {
			return "", err
		}
		if i == 1 {
			found = read(ctx, receiver, 1)
		}
		if err := conn.Close(); err != nil { // without a detach: the subscription stays
			return "", err
		}
		if i == 0 {
			if err := away(ctx); err != nil {
				return "", err
			}
		}
	}
	return found, nil
}

func away(ctx context.Context) error {
	_, err := run(ctx, func(ctx context.Context, s *amqp.Session) (string, error) {
		return "", publish(ctx, s, "news.kept", "while away")
	})
	return err
}

func footer(ctx context.Context, s *amqp.Session) (string, error) {
	sender, err := s.NewSender(ctx, "footer", nil)
	if err != nil {
		return "", err
	}
	m := amqp.NewMessage([]byte("x"))
	m.Footer = amqp.Annotations{"x-opt-sum": int64(7)}
	m.DeliveryAnnotations = amqp.Annotations{"x-opt-hop": "once"}
	if err := sender.Send(ctx, m, nil); err != nil {
		return "", err
	}
	receiver, err := s.NewReceiver(ctx, "footer", nil)
	if err != nil {
		return "", err
	}
	return read(ctx, receiver, 1), nil
}
