//! What users of the crate do beside the program of docs/clients/rust.md. The arguments are the URL of
//! the service, a token, and an empty namespace.

use std::{collections::HashMap, error::Error, fmt::Debug, future::Future, io::Cursor, ops::Range, sync::Arc, time::Duration};

use arrow_array::{cast::AsArray, types::*, FixedSizeListArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::{reader::FileReader, writer::StreamWriter};
use lance_namespace_reqwest_client::apis::configuration::{ApiKey, Configuration};
use lance_namespace_reqwest_client::apis::{self, namespace_api, table_api};
use lance_namespace_reqwest_client::models::*;

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let mut server = Configuration::new();
    server.base_path = arguments[1].clone();
    server.api_key = Some(ApiKey { prefix: None, key: arguments[2].clone() });
    let space = &arguments[3];
    namespaces(&server, space).await?;
    rows_and_queries(&server, &format!("{space}$rows")).await?;
    columns_and_indices(&server, &format!("{space}$columns")).await?;
    versions_tags_branches(&server, space).await?;
    println!("done");
    Ok(())
}

async fn namespaces(server: &Configuration, space: &str) -> Outcome {
    let id = &format!("{space}$in");
    let mut create = CreateNamespaceRequest::new();
    create.properties = Some(HashMap::from([("a".to_string(), "b".to_string())]));
    namespace_api::create_namespace(server, id, create.clone(), None).await?;
    refused(409, namespace_api::create_namespace(server, id, create, None)).await;
    namespace_api::namespace_exists(server, &format!("{space}.in"), NamespaceExistsRequest::new(), Some(".")).await?;
    let described = namespace_api::describe_namespace(server, id, DescribeNamespaceRequest::new(), None).await?;
    assert_eq!(described.properties.unwrap()["a"], "b");
    assert_eq!(namespace_api::list_namespaces(server, space, None, None, None).await?.namespaces, ["in"]);
    namespace_api::drop_namespace(server, id, DropNamespaceRequest::new(), None).await?;
    refused(404, namespace_api::namespace_exists(server, id, NamespaceExistsRequest::new(), None)).await;

    // A fault of the client: docs/clients/rust.md.
    let skip = DropNamespaceRequest { mode: Some("Skip".into()), ..DropNamespaceRequest::new() };
    let failure = namespace_api::drop_namespace(server, id, skip, None).await.unwrap_err();
    assert!(failure.to_string().contains("application/octet-stream"), "{failure}");

    let mut stranger = server.clone();
    stranger.api_key = None;
    stranger.bearer_access_token = Some("wrong".into());
    refused(401, namespace_api::list_namespaces(&stranger, "$", None, None, None)).await;
    stranger.bearer_access_token = server.api_key.as_ref().map(|known| known.key.clone());
    namespace_api::list_namespaces(&stranger, "$", None, None, None).await?;
    Ok(())
}

async fn rows_and_queries(server: &Configuration, id: &str) -> Outcome {
    table_api::create_table(server, id, rows("n", 0..100)?, None, Some("Create"), None, None).await?;
    refused(409, table_api::create_table(server, id, rows("n", 0..1)?, None, Some("Create"), None, None)).await;
    let on = vec!["id".to_string(), "name".to_string()];
    let merged =
        table_api::merge_insert_into_table(server, id, on, rows("n", 95..105)?, None, None, Some(true), None, Some(true), None, None, None, None)
            .await?;
    assert_eq!((merged.num_updated_rows, merged.num_inserted_rows), (Some(5), Some(5)));
    let mut count = CountTableRowsRequest::new();
    assert_eq!(table_api::count_table_rows(server, id, count.clone(), None).await?, 105);
    count.predicate = Some("id >= 100".into());
    assert_eq!(table_api::count_table_rows(server, id, count, None).await?, 5);

    let filter = QueryTableRequest { filter: Some("id < 3".into()), ..QueryTableRequest::new(10, QueryTableRequestVector::new()) };
    assert_eq!(ids(server, id, filter.clone()).await?, [0, 1, 2]);
    assert_eq!(ids(server, id, QueryTableRequest { k: 1, offset: Some(1), ..filter.clone() }).await?, [1]);
    let near = QueryTableRequestVector { single_vector: Some(vec![50.1, 0.0]), multi_vector: None };
    assert_eq!(ids(server, id, QueryTableRequest { k: 2, vector: Box::new(near), filter: None, ..filter.clone() }).await?, [50, 51]);
    let mut explain = ExplainTableQueryPlanRequest::new(filter.clone());
    explain.verbose = Some(true);
    assert!(table_api::explain_table_query_plan(server, id, explain, None).await?.contains("Scan"));
    let analyze = AnalyzeTableQueryPlanRequest { filter: filter.filter.clone(), ..AnalyzeTableQueryPlanRequest::new(10, QueryTableRequestVector::new()) };
    assert!(table_api::analyze_table_query_plan(server, id, analyze, None).await?.contains("rows=3"));
    refused(400, table_api::query_table(server, id, QueryTableRequest { filter: Some("nope = 1".into()), ..filter }, None)).await;
    assert_eq!(table_api::get_table_stats(server, id, GetTableStatsRequest::new(), None).await?.num_rows, 105);
    Ok(())
}

async fn columns_and_indices(server: &Configuration, id: &str) -> Outcome {
    table_api::create_table(server, id, rows("word ", 0..300)?, None, None, None, None).await?;
    let twice = AddColumnsEntry { expression: Some(Some("id * 2".into())), ..AddColumnsEntry::new("twice".into()) };
    table_api::alter_table_add_columns(server, id, AlterTableAddColumnsRequest::new(vec![twice]), None).await?;
    let label = AlterColumnsEntry { rename: Some(Some("label".into())), ..AlterColumnsEntry::new("name".into()) };
    table_api::alter_table_alter_columns(server, id, AlterTableAlterColumnsRequest::new(vec![label]), None).await?;
    table_api::alter_table_drop_columns(server, id, AlterTableDropColumnsRequest::new(vec!["twice".into()]), None).await?;
    let mut detailed = DescribeTableRequest::new();
    detailed.load_detailed_metadata = Some(true);
    let schema = table_api::describe_table(server, id, detailed, None, None, Some(true), None).await?.schema.unwrap();
    assert_eq!(schema.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["id", "label", "vector"]);

    table_api::create_table_scalar_index(server, id, CreateTableIndexRequest::new("id".into(), "BTREE".into()), None).await?;
    table_api::create_table_index(server, id, CreateTableIndexRequest::new("label".into(), "FTS".into()), None).await?;
    let mut near = CreateTableIndexRequest::new("vector".into(), "IVF_FLAT".into());
    (near.distance_type, near.num_partitions) = (Some("l2".into()), Some(2));
    table_api::create_table_index(server, id, near, None).await?;
    let mut indices = vec![];
    for _ in 0..600 {
        indices = table_api::list_table_indices(server, id, ListTableIndicesRequest::new(), None).await?.indexes;
        if indices.len() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(indices.iter().map(|index| index.index_name.as_str()).collect::<Vec<_>>(), ["id_idx", "label_idx", "vector_idx"]);
    let stats = table_api::describe_table_index_stats(server, id, "vector_idx", DescribeTableIndexStatsRequest::new(), None).await?;
    assert_eq!((stats.distance_type.as_deref(), stats.num_indexed_rows), (Some("l2"), Some(300)));

    let mut words = QueryTableRequest::new(3, QueryTableRequestVector::new());
    let text = StringFtsQuery::new("7".into());
    words.full_text_query = Some(Box::new(QueryTableRequestFullTextQuery { string_query: Some(Box::new(text)), structured_query: None }));
    assert_eq!(ids(server, id, words.clone()).await?, [7]);
    let matches = MatchQuery { column: Some("label".into()), ..MatchQuery::new("8".into()) };
    let text = StructuredFtsQuery::new(FtsQuery { r#match: Some(Box::new(matches)), ..FtsQuery::new() });
    words.full_text_query = Some(Box::new(QueryTableRequestFullTextQuery { string_query: None, structured_query: Some(Box::new(text)) }));
    assert_eq!(ids(server, id, words).await?, [8]);
    table_api::drop_table_index(server, id, "vector_idx", None, None).await?;
    Ok(())
}

async fn versions_tags_branches(server: &Configuration, space: &str) -> Outcome {
    let id = &format!("{space}$versions");
    table_api::create_table(server, id, rows("n", 0..3)?, None, None, None, None).await?;
    table_api::insert_into_table(server, id, rows("n", 3..5)?, None, None, Some("Append")).await?;
    let versions = table_api::list_table_versions(server, id, None, None, None, None, Some(true)).await?.versions;
    assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [2, 1]);
    table_api::create_table_tag(server, id, CreateTableTagRequest::new("t".into(), 1), None).await?;
    table_api::update_table_tag(server, id, UpdateTableTagRequest::new("t".into(), 2), None).await?;
    assert_eq!(table_api::get_table_tag_version(server, id, GetTableTagVersionRequest::new("t".into()), None).await?.version, 2);
    assert!(table_api::list_table_tags(server, id, None, None, None).await?.tags.contains_key("t"));
    table_api::delete_table_tag(server, id, DeleteTableTagRequest::new("t".into()), None).await?;

    table_api::create_table_branch(server, id, CreateTableBranchRequest::new("dev".into()), None).await?;
    table_api::insert_into_table(server, id, rows("n", 5..9)?, None, Some("dev"), Some("Append")).await?;
    let count = CountTableRowsRequest { branch: Some("dev".into()), ..CountTableRowsRequest::new() };
    assert_eq!(table_api::count_table_rows(server, id, count, None).await?, 9);
    assert!(table_api::list_table_branches(server, id, None, None, None).await?.branches.contains_key("dev"));
    table_api::delete_table_branch(server, id, DeleteTableBranchRequest::new("dev".into()), None).await?;

    let first = QueryTableRequest { version: Some(1), ..QueryTableRequest::new(10, QueryTableRequestVector::new()) };
    assert_eq!(ids(server, id, first).await?, [0, 1, 2]);
    table_api::restore_table(server, id, RestoreTableRequest::new(1), None).await?;
    table_api::rename_table(server, id, RenameTableRequest::new("renamed".into()), None).await?;
    refused(404, table_api::table_exists(server, id, TableExistsRequest::new(), None)).await;
    assert!(namespace_api::list_tables(server, space, None, None, None, None).await?.tables.contains(&"renamed".to_string()));
    table_api::drop_table(server, &format!("{space}$renamed"), None).await?;

    let declared = &format!("{space}$declared");
    let location = table_api::declare_table(server, declared, DeclareTableRequest::new(), None).await?.location;
    assert_eq!(table_api::deregister_table(server, declared, DeregisterTableRequest::new(), None).await?.location, location);
    Ok(())
}

/// Returns rows as docs/clients/rust.md makes them.
fn rows(prefix: &str, ids: Range<i64>) -> Result<Vec<u8>, Box<dyn Error>> {
    let names: StringArray = ids.clone().map(|id| Some(format!("{prefix}{id}"))).collect();
    let vectors = ids.clone().map(|id| Some(vec![Some(id as f32), Some(0.0)]));
    let batch = RecordBatch::try_from_iter(vec![
        ("id", Arc::new(Int64Array::from_iter_values(ids)) as _),
        ("name", Arc::new(names) as _),
        ("vector", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2)) as _),
    ])?;
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    stream.write(&batch)?;
    Ok(stream.into_inner()?)
}

/// Returns the ids of the rows that a query finds.
async fn ids(server: &Configuration, id: &str, query: QueryTableRequest) -> Result<Vec<i64>, Box<dyn Error>> {
    let file = table_api::query_table(server, id, query, None).await?.bytes().await?;
    let mut found = vec![];
    for batch in FileReader::try_new(Cursor::new(file), None)? {
        found.extend_from_slice(batch?["id"].as_primitive::<Int64Type>().values());
    }
    Ok(found)
}

/// Awaits a request that the service refuses with the status.
async fn refused<T: Debug, E: Debug>(status: u16, request: impl Future<Output = Result<T, apis::Error<E>>>) {
    match request.await {
        Err(apis::Error::ResponseError(response)) => assert_eq!(response.status.as_u16(), status, "{}", response.content),
        other => panic!("got {other:?}, want status {status}"),
    }
}
