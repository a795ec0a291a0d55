# The controller's image: one static binary, no shell, not root.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS=linux
ARG TARGETARCH=amd64
ARG VERSION=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY apis apis
COPY cmd cmd
COPY config config
COPY pkg pkg
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /berth-controller ./cmd/berth-controller

FROM gcr.io/distroless/static:nonroot
COPY --from=build /berth-controller /berth-controller
USER 65532:65532
ENTRYPOINT ["/berth-controller"]
