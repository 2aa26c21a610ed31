package lockotel_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/lockotel"
)

func Example() {
	// with your readers and exporters
	meters, tracers := metric.NewMeterProvider(), trace.NewTracerProvider()
	observer, err := lockotel.New(meters, tracers)
	if err != nil {
		fmt.Println(err)
		return
	}
	session := lock.NewSession(new(zk.Conn), nil, 10*time.Second) // rather from lock.Dial
	_, err = lock.NewMutex(session, "/locks/billing", lock.WithObserver(observer))
	fmt.Println(err)
	// Output: <nil>
}
