package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsbackup"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"
)

// backUp creates a daily backup of the bucket and of the records. Versions of objects and
// point-in-time recovery do not survive the deletion of the bucket or the table; backups do.
func (s *Storage) backUp(c Config) {
	if c.BackupDays == 0 {
		return
	}
	kept := awscdk.Duration_Days(jsii.Number(c.BackupDays))
	vault := awsbackup.NewBackupVault(s.Stack, jsii.String("Vault"), &awsbackup.BackupVaultProps{
		EncryptionKey: s.Key, RemovalPolicy: awscdk.RemovalPolicy_RETAIN, LockConfiguration: c.backupLock(kept),
	})
	s.Vault = vault.BackupVaultName()
	plan := awsbackup.NewBackupPlan(s.Stack, jsii.String("Backups"), &awsbackup.BackupPlanProps{
		BackupVault: vault,
		BackupPlanRules: &[]awsbackup.BackupPlanRule{awsbackup.NewBackupPlanRule(&awsbackup.BackupPlanRuleProps{
			RuleName:           jsii.String("daily"),
			ScheduleExpression: awsevents.Schedule_Cron(&awsevents.CronOptions{Hour: jsii.String("3"), Minute: jsii.String("0")}),
			DeleteAfter:        kept,
			CopyActions:        s.backupCopies(c.BackupCopy, kept),
		})},
	})
	role := s.newRole("Backup", "backup.amazonaws.com")
	for _, policy := range []string{"service-role/AWSBackupServiceRolePolicyForBackup", "AWSBackupServiceRolePolicyForS3Backup"} {
		role.AddManagedPolicy(awsiam.ManagedPolicy_FromAwsManagedPolicyName(&policy))
	}
	plan.AddSelection(jsii.String("State"), &awsbackup.BackupSelectionOptions{
		Role: role, DisableDefaultBackupPolicy: jsii.Bool(true),
		Resources: &[]awsbackup.BackupResource{
			awsbackup.BackupResource_FromDynamoDbTable(s.Records), awsbackup.BackupResource_FromArn(s.Bucket.BucketArn()),
		},
	})
}

// lockGraceDays is the least time for which AWS lets a lock for compliance be removed again.
const lockGraceDays = 3

// backupLock returns the lock of the vault, or nil for none: no backup can be deleted before its time.
func (c Config) backupLock(kept awscdk.Duration) *awsbackup.LockConfiguration {
	switch c.BackupLock {
	case "governance":
		return &awsbackup.LockConfiguration{MinRetention: kept}
	case "compliance":
		return &awsbackup.LockConfiguration{MinRetention: kept, ChangeableFor: awscdk.Duration_Days(jsii.Number(lockGraceDays))}
	}
	return nil
}

// backupCopies returns the rule that copies each backup to the vault with an ARN, or no rule if it is empty.
func (s *Storage) backupCopies(vault string, kept awscdk.Duration) *[]*awsbackup.BackupPlanCopyActionProps {
	if vault == "" {
		return nil
	}
	return &[]*awsbackup.BackupPlanCopyActionProps{{
		DestinationBackupVault: awsbackup.BackupVault_FromBackupVaultArn(s.Stack, jsii.String("CopyVault"), &vault), DeleteAfter: kept,
	}}
}

// replication returns the rule that copies the bucket to the bucket with an ARN, or no rule if it
// is empty.
func (s *Storage) replication(replica string) *[]*awss3.ReplicationRule {
	if replica == "" {
		return nil
	}
	return &[]*awss3.ReplicationRule{{
		Destination:             awss3.Bucket_FromBucketArn(s.Stack, jsii.String("Replica"), &replica),
		DeleteMarkerReplication: jsii.Bool(true),
	}}
}
