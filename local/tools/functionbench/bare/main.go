// Command bare does the minimum of a function: it receives an event of the gateway, reads one
// object with the AWS SDK, and responds with it. The benchmark compares the service's functions
// with it. A GET reads nothing.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func main() {
	configuration, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	client := s3.NewFromConfig(configuration, func(o *s3.Options) { o.UsePathStyle = true })
	bucket, key := os.Getenv("BENCH_BUCKET"), os.Getenv("BENCH_KEY")
	lambda.Start(func(ctx context.Context, in events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse, err error) {
		body := []byte(`{"status":"ok"}`)
		if in.RequestContext.HTTP.Method != "GET" {
			body, err = get(ctx, client, bucket, key)
		}
		return events.APIGatewayV2HTTPResponse{
			StatusCode: 200, Headers: map[string]string{"Content-Type": "application/json"}, Body: string(body),
		}, err
	})
}

func get(ctx context.Context, client *s3.Client, bucket, key string) (data []byte, err error) {
	object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = object.Body.Close() }() // the body was only read
	return io.ReadAll(object.Body)
}
