# The command interlock in an image without a shell, for its test server and its searches:
#   docker build -t interlock .
#   docker run --rm -p 127.0.0.1:2181:2181 interlock serve --listen 0.0.0.0:2181 --public
# With a shell, for docs/cluster/shards.yaml:
#   docker build --target shell -t interlock-shell .
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /interlock ./cmd/interlock

FROM gcr.io/distroless/static-debian12:debug-nonroot AS shell
COPY --from=build /interlock /usr/local/bin/interlock

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /interlock /interlock
ENTRYPOINT ["/interlock"]
