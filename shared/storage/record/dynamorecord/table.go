package dynamorecord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateTable creates a table for records unless it exists, and waits for at most a minute until it is
// usable. It is for servers that substitute DynamoDB; the stacks of infra create their own tables.
func CreateTable(ctx context.Context, client *dynamodb.Client, name string) error {
	text := types.ScalarAttributeTypeS
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("folder"), AttributeType: text},
			{AttributeName: aws.String("name"), AttributeType: text},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("folder"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("name"), KeyType: types.KeyTypeRange},
		},
	})
	// The client retries after a lost answer, so the table may come from its own first attempt.
	if taken := new(types.ResourceInUseException); err != nil && !errors.As(err, &taken) {
		return fmt.Errorf("create table %s: %w", name, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(client)
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		return fmt.Errorf("wait for table %s: %w", name, err)
	}
	return nil
}
