package workqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// A storage is what the server keeps of a plan: the ranges to run, and the results.
type storage struct {
	queue   *Queue
	subject string                // of the ranges, without the index
	ranges  jetstream.Consumer    // shared by all workers
	results jetstream.KeyValue    // a result for each range, by its index
	records jetstream.ObjectStore // the records, by names that are used once
}

// A result says where the record of a range is.
type result struct {
	Record string `json:"record"`
	Worker string `json:"worker"`
}

const workers = "workers" // the name of the consumer

// storageName returns the name of a plan's stream and buckets.
func (q *Queue) storageName(id string) string { return prefix + q.name + "-" + id }

// subjectOf returns the first part of the subjects of a plan.
func (q *Queue) subjectOf(id string) string { return "interlock." + q.name + "." + id + "." }

// createStorage creates the storage of a plan, as far as it does not exist. A range goes to another
// worker if its worker is silent for the given time.
func (q *Queue) createStorage(ctx context.Context, id string, ackWait time.Duration,
) (*storage, error) {
	name, s := q.storageName(id), &storage{queue: q, subject: q.subjectOf(id) + "range."}
	stream, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{s.subject + "*"}, Retention: jetstream.WorkQueuePolicy,
	})
	if err != nil {
		return nil, err
	}
	if s.ranges, err = stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: workers, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait,
		MaxAckPending: -1, MaxWaiting: waitingMax,
	}); err != nil {
		return nil, err
	}
	if s.results, err = q.js.CreateOrUpdateKeyValue(ctx,
		jetstream.KeyValueConfig{Bucket: name}); err != nil {
		return nil, err
	}
	s.records, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name})
	return s, err
}

// waitingMax bounds how many workers wait for a range at a time.
const waitingMax = 1 << 16

// openStorage returns the storage of a plan, which exists.
func (q *Queue) openStorage(ctx context.Context, id string) (*storage, error) {
	name, s := q.storageName(id), &storage{queue: q, subject: q.subjectOf(id) + "range."}
	var err error
	if s.ranges, err = q.js.Consumer(ctx, name, workers); err != nil {
		return nil, err
	}
	if s.results, err = q.js.KeyValue(ctx, name); err != nil {
		return nil, err
	}
	s.records, err = q.js.ObjectStore(ctx, name)
	return s, err
}

// deleteStorage deletes the storage of a plan, as far as it exists.
func (q *Queue) deleteStorage(ctx context.Context, id string) error {
	name := q.storageName(id)
	for _, remove := range []func(context.Context, string) error{
		q.js.DeleteStream, q.js.DeleteKeyValue, q.js.DeleteObjectStore,
	} {
		if err := remove(ctx, name); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// gone reports whether an error says that the storage, or a part of it, does not exist.
func gone(err error) bool {
	for _, missing := range []error{
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrBucketNotFound,
		jetstream.ErrConsumerDeleted,
	} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return false
}

// post queues a range, unless it is queued already.
func (s *storage) post(ctx context.Context, index int) error {
	_, err := persist(ctx, s.queue, func() (*jetstream.PubAck, error) {
		return s.queue.js.Publish(ctx, s.subject+strconv.Itoa(index), nil,
			jetstream.WithExpectLastSequencePerSubject(0))
	})
	if queued := new(jetstream.APIError); errors.As(err, &queued) &&
		(queued.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			queued.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
		return nil
	}
	return err
}

// next waits for a range. It returns nil if there is none for now.
func (s *storage) next(ctx context.Context) (jetstream.Msg, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	again := s.queue.reconnection()
	go func() {
		select {
		case <-again: // The server has forgotten that it was asked.
			cancel()
		case <-ctx.Done():
		}
	}()
	message, err := s.ranges.Next(jetstream.FetchContext(ctx))
	if err == nil || ctx.Err() != nil {
		return message, nil
	}
	if transient(err) || errors.Is(err, jetstream.ErrNoMessages) {
		return nil, nil
	}
	return nil, err
}

// indexOf returns the index of the range that a message asks for.
func (s *storage) indexOf(message jetstream.Msg) (int, error) {
	return strconv.Atoi(message.Subject()[len(s.subject):])
}

// has reports whether a range has a result.
func (s *storage) has(ctx context.Context, index int) (bool, error) {
	_, err := persist(ctx, s.queue, func() (jetstream.KeyValueEntry, error) {
		return s.results.Get(ctx, strconv.Itoa(index))
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// store stores the record of a range, and reports whether it counts. It does not if another one was
// stored before.
func (s *storage) store(ctx context.Context, index int, worker string, record []byte,
) (counts bool, err error) {
	r := result{Record: nuid.Next(), Worker: worker}
	if _, err := persist(ctx, s.queue, func() (*jetstream.ObjectInfo, error) {
		return s.records.PutBytes(ctx, r.Record, record)
	}); err != nil {
		return false, err
	}
	key := strconv.Itoa(index)
	_, err = persist(ctx, s.queue, func() (uint64, error) {
		return s.results.Create(ctx, key, encode(&r))
	})
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return err == nil, err
	}
	// If an answer was lost, the result that exists may be this one.
	entry, err := persist(ctx, s.queue, func() (jetstream.KeyValueEntry, error) {
		return s.results.Get(ctx, key)
	})
	if err != nil {
		return false, err
	}
	if counted, err := decodeResult(entry); err != nil || counted.Record == r.Record {
		return err == nil, err
	}
	_, err = persist(ctx, s.queue, func() (struct{}, error) {
		return struct{}{}, s.records.Delete(ctx, r.Record)
	})
	return false, err
}

// load returns the index of the range of a result, and the result with its record.
func (s *storage) load(ctx context.Context, entry jetstream.KeyValueEntry) (index int, r result,
	record []byte, err error,
) {
	if index, err = strconv.Atoi(entry.Key()); err != nil {
		return 0, r, nil, fmt.Errorf("a result of the queue is damaged: %w", err)
	}
	if r, err = decodeResult(entry); err != nil {
		return 0, r, nil, err
	}
	record, err = persist(ctx, s.queue, func() ([]byte, error) {
		return s.records.GetBytes(ctx, r.Record)
	})
	return index, r, record, err
}

func decodeResult(entry jetstream.KeyValueEntry) (r result, err error) {
	if err := json.Unmarshal(entry.Value(), &r); err != nil {
		return r, fmt.Errorf("the result of range %s is damaged: %w", entry.Key(), err)
	}
	return r, nil
}

// done acknowledges a message, and waits until the server knows.
func (s *storage) done(ctx context.Context, message jetstream.Msg) error {
	_, err := persist(ctx, s.queue, func() (struct{}, error) {
		return struct{}{}, message.DoubleAck(ctx)
	})
	if errors.Is(err, jetstream.ErrMsgAlreadyAckd) || errors.Is(err, nats.ErrMsgAlreadyAckd) {
		return nil
	}
	return err
}
