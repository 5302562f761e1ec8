//! What LanceDB's client does from version 0.41 on by SQL: queries, and all about materialized views.
//! Arguments: the URL of the server, the address of its Flight SQL, a token, and a namespace without tables.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, StringArray, types::Float32Type,
};
use futures::TryStreamExt;
use lancedb::{Connection, sql::QueryStatus};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("an argument");
    let (url, sql, token, space) = (next(), next(), next(), next());
    let db = lancedb::connect("db://local")
        .api_key(&token)
        .region("local")
        .host_override(&url)
        .sql_host_override(&format!("grpc://{sql}"))
        .execute()
        .await?;
    queries(&db).await?;
    views(&db).await?;
    nested_views(&db, &space).await?;
    println!("done");
    Ok(())
}

fn batch() -> Outcome<RecordBatch> {
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        (0..5).map(|i| Some([Some(i as f32), Some(1.0)])),
        2,
    );
    Ok(RecordBatch::try_from_iter([
        (
            "id",
            Arc::new(Int64Array::from_iter_values(0..5)) as ArrayRef,
        ),
        (
            "word",
            Arc::new(StringArray::from(vec!["ant", "bee", "cat", "dog", "eel"])),
        ),
        ("vector", Arc::new(vectors)),
    ])?)
}

/// The values of the first column of the answer to a query.
async fn ids(db: &Connection, text: &str, parameters: Option<RecordBatch>) -> Outcome<Vec<i64>> {
    let mut query = db.execute_query_async(text);
    if let Some(parameters) = parameters {
        query = query.parameters(parameters);
    }
    let query = query.execute().await?;
    let mut found = Vec::new();
    let mut reader = query.reader().await?;
    while let Some(batch) = reader.try_next().await? {
        let column = batch
            .column(0)
            .as_any()
            .downcast_ref::<Int64Array>()
            .expect("integers");
        found.extend_from_slice(column.values());
    }
    Ok(found)
}

async fn queries(db: &Connection) -> Outcome<()> {
    db.create_table("docs", batch()?).execute().await?;
    assert_eq!(
        ids(db, "SELECT id FROM docs WHERE id > 2 ORDER BY id", None).await?,
        [3, 4]
    );
    assert_eq!(ids(db, "SELECT count(*) FROM docs", None).await?, [5]);

    let vector = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        [Some([Some(3.2), Some(1.0)])],
        2,
    );
    let parameters = RecordBatch::try_from_iter([
        ("vector", Arc::new(vector) as ArrayRef),
        ("k", Arc::new(Int64Array::from(vec![2]))),
    ])?;
    let nearest = "SELECT id FROM docs ORDER BY distance(vector, $vector) LIMIT $k";
    assert_eq!(ids(db, nearest, Some(parameters)).await?, [3, 4]);

    let query = db
        .execute_query_async(
            "SELECT a.id FROM docs a JOIN docs b ON a.id = b.id + 1 ORDER BY 1 DESC",
        )
        .default_namespace_path(["public"])
        .execute()
        .await?;
    assert_eq!(query.describe().await?.id, query.id());
    let batches: Vec<RecordBatch> = query.reader().await?.try_collect().await?;
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
    assert_eq!(query.describe().await?.status, QueryStatus::Finished);

    let refused = ids(db, "SELECT nothing FROM docs", None)
        .await
        .expect_err("no such column");
    assert!(refused.to_string().contains("nothing"), "{refused}");
    let cancelled = db
        .execute_query_async("SELECT id FROM docs")
        .execute()
        .await?;
    cancelled.cancel().await?;
    Ok(())
}

async fn views(db: &Connection) -> Outcome<()> {
    let view = db
        .create_materialized_view("late", "docs")
        .select([("id", "id"), ("loud", "upper(word)")])
        .only_if("id > 1")
        .execute()
        .await?;
    assert_eq!(view.table().count_rows(None).await?, 3);
    assert!(
        view.definition_sql().contains("upper(word)"),
        "{}",
        view.definition_sql()
    );
    let all = db
        .create_materialized_view("all", "docs")
        .limit(4)
        .execute_async()
        .await?;
    all.wait().await?;
    assert_eq!(
        db.open_table("all")
            .execute()
            .await?
            .count_rows(None)
            .await?,
        4
    );
    let mut names: Vec<String> = db
        .list_materialized_views(Default::default())
        .try_collect()
        .await?;
    names.sort();
    assert_eq!(names, ["all", "late"]);

    db.open_table("docs")
        .execute()
        .await?
        .delete("id = 4")
        .await?;
    let view = db.open_materialized_view("late").await?;
    view.refresh().execute().await?;
    assert_eq!(view.table().count_rows(None).await?, 2);
    view.refresh().full(true).execute().await?;
    assert_eq!(
        ids(db, "SELECT id FROM late ORDER BY id", None).await?,
        [2, 3]
    );
    for name in names {
        db.drop_materialized_view(name, &[]).await?;
    }
    let left: Vec<String> = db
        .list_materialized_views(Default::default())
        .try_collect()
        .await?;
    assert!(left.is_empty(), "{left:?}");
    assert!(
        db.open_materialized_view("docs").await.is_err(),
        "a table is no view"
    );
    Ok(())
}

async fn nested_views(db: &Connection, space: &str) -> Outcome<()> {
    let path = vec![space.to_string()];
    db.create_table("docs", batch()?)
        .namespace(path.clone())
        .execute()
        .await?;
    let view = db
        .create_materialized_view("copy", "docs")
        .source_namespace(path.clone())
        .namespace(path.clone())
        .auto_refresh_enabled(true)
        .auto_refresh_interval_seconds(300.0)
        .execute()
        .await?;
    assert_eq!(view.table().count_rows(None).await?, 5);
    let text =
        format!("SELECT id FROM \"{space}\".\"copy\" WHERE word <> 'ant' ORDER BY id LIMIT 1");
    assert_eq!(ids(db, &text, None).await?, [1]);
    db.drop_materialized_view("copy", &path).await?;
    Ok(())
}
