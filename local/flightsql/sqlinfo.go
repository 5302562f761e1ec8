package flightsql

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"tiltyard/shared/client"
	"tiltyard/shared/process/release"
)

// infos are the facts about the server that drivers ask for, by number.
func infos() map[uint32]any {
	all := map[flightsql.SqlInfo]any{
		flightsql.SqlInfoFlightSqlServerName:                     "Tiltyard",
		flightsql.SqlInfoFlightSqlServerVersion:                  release.Version(),
		flightsql.SqlInfoFlightSqlServerArrowVersion:             "18.8.0",
		flightsql.SqlInfoFlightSqlServerReadOnly:                 false,
		flightsql.SqlInfoFlightSqlServerSql:                      true,
		flightsql.SqlInfoFlightSqlServerSubstrait:                false,
		flightsql.SqlInfoFlightSqlServerTransaction:              int32(pb.SqlSupportedTransaction_SQL_SUPPORTED_TRANSACTION_NONE),
		flightsql.SqlInfoFlightSqlServerCancel:                   true,
		flightsql.SqlInfoFlightSqlServerBulkIngestion:            false,
		flightsql.SqlInfoDDLCatalog:                              false,
		flightsql.SqlInfoDDLSchema:                               true,
		flightsql.SqlInfoDDLTable:                                true,
		flightsql.SqlInfoIdentifierCase:                          int32(pb.SqlSupportedCaseSensitivity_SQL_CASE_SENSITIVITY_LOWERCASE),
		flightsql.SqlInfoIdentifierQuoteChar:                     `"`,
		flightsql.SqlInfoQuotedIdentifierCase:                    int32(pb.SqlSupportedCaseSensitivity_SQL_CASE_SENSITIVITY_CASE_INSENSITIVE),
		flightsql.SqlInfoAllTablesAreASelectable:                 false,
		flightsql.SqlInfoNullOrdering:                            int32(pb.SqlNullOrdering_SQL_NULLS_SORTED_HIGH),
		flightsql.SqlInfoKeywords:                                []string{},
		flightsql.SqlInfoSearchStringEscape:                      `\`,
		flightsql.SqlInfoExtraNameChars:                          "",
		flightsql.SqlInfoSupportsColumnAliasing:                  true,
		flightsql.SqlInfoNullPlusNullIsNull:                      true,
		flightsql.SqlInfoSupportsTableCorrelationNames:           true,
		flightsql.SqlInfoSupportsExpressionsInOrderBy:            true,
		flightsql.SqlInfoSupportsOrderByUnrelated:                true,
		flightsql.SqlInfoSupportsNonNullableColumns:              true,
		flightsql.SqlInfoSchemaTerm:                              "namespace",
		flightsql.SqlInfoCatalogTerm:                             "",
		flightsql.SqlInfoCatalogAtStart:                          true,
		flightsql.SqlInfoSelectForUpdateSupported:                false,
		flightsql.SqlInfoStoredProceduresSupported:               false,
		flightsql.SqlInfoCorrelatedSubqueriesSupported:           false,
		flightsql.SqlInfoTransactionsSupported:                   false,
		flightsql.SqlInfoBatchUpdatesSupported:                   false,
		flightsql.SqlInfoSavePointsSupported:                     false,
		flightsql.SqlInfoNamedParametersSupported:                true,
		flightsql.SqlInfoMaxColumnNameLen:                        int64(0),
		flightsql.SqlInfoMaxStatementLen:                         int64(0),
		flightsql.SqlInfoMaxTablesInSelect:                       int64(0),
		flightsql.SqlInfoSupportedGroupBy:                        int32(1<<pb.SqlSupportedGroupBy_SQL_GROUP_BY_UNRELATED | 1<<pb.SqlSupportedGroupBy_SQL_GROUP_BY_BEYOND_SELECT),
		flightsql.SqlInfoOuterJoinsSupportLevel:                  int32(1 << pb.SqlOuterJoinsSupportLevel_SQL_LIMITED_OUTER_JOINS),
		flightsql.SqlInfoSupportedSubqueries:                     int32(1<<pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_COMPARISONS | 1<<pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_EXISTS | 1<<pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_INS),
		flightsql.SqlInfoSupportedUnions:                         int32(1<<pb.SqlSupportedUnions_SQL_UNION | 1<<pb.SqlSupportedUnions_SQL_UNION_ALL),
		flightsql.SqlInfoSupportsConvert:                         map[int32][]int32{},
		flightsql.SqlInfoStoredFunctionsUsingCallSyntaxSupported: false,
	}
	numbered := make(map[uint32]any, len(all))
	for name, value := range all {
		numbered[uint32(name)] = value
	}
	return numbered
}

// infosOf lists the facts that a command asks for, or all of them. It leaves out what it has not, as drivers expect.
func infosOf(c *pb.CommandGetSqlInfo) func(context.Context, *client.Client, *listWriter) error {
	return func(ctx context.Context, _ *client.Client, rows *listWriter) error {
		var known flightsql.BaseServer
		wanted := &pb.CommandGetSqlInfo{}
		for number, value := range infos() {
			if err := known.RegisterSqlInfo(flightsql.SqlInfo(number), value); err != nil {
				return err
			}
			if len(c.GetInfo()) == 0 || slices.Contains(c.GetInfo(), number) {
				wanted.Info = append(wanted.Info, number)
			}
		}
		if len(wanted.Info) == 0 {
			return nil
		}
		slices.Sort(wanted.Info)
		_, chunks, err := known.DoGetSqlInfo(ctx, wanted)
		if err != nil {
			return err
		}
		for chunk := range chunks {
			if err == nil {
				err = chunk.Err
			}
			if chunk.Data == nil {
				continue
			}
			if err == nil {
				err = rows.out.Write(chunk.Data)
			}
			chunk.Data.Release()
		}
		return err
	}
}
