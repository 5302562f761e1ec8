import java.io.*;
import java.util.*;
import java.util.concurrent.Callable;
import org.apache.arrow.c.*;
import org.apache.arrow.memory.*;
import org.apache.arrow.vector.*;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.ipc.*;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.*;
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel;
import org.lance.*;
import org.lance.index.*;
import org.lance.index.scalar.ScalarIndexParams;
import org.lance.index.vector.VectorIndexParams;
import org.lance.ipc.*;
import org.lance.namespace.LanceNamespace;
import org.lance.namespace.client.apache.*;
import org.lance.namespace.client.apache.api.*;
import org.lance.namespace.model.*;
import org.lance.schema.*;

/**
 * What users of the clients in Java do beside the program of docs/clients/java.md. The arguments are
 * the URL of the service, a token, a namespace, and one in which versions are managed; both are empty.
 */
public class Suite {
  static final BufferAllocator MEMORY = new RootAllocator();
  static String url, token;
  static ApiClient server;
  static TableApi tables;

  public static void main(String[] args) throws Exception {
    url = args[0];
    token = args[1];
    server = new ApiClient().setBasePath(url);
    server.setBearerToken(token);
    tables = new TableApi(server);
    namespaces(args[2]);
    rowsAndQueries(args[2]);
    columnsAndIndices(args[2]);
    versionsAndTags(args[2]);
    batches(args[3]);
    LanceNamespace catalog = LanceNamespace.connect("rest", Map.of("uri", url, "header.x-api-key", token), MEMORY);
    natively(catalog, args[2], false);
    natively(catalog, args[3], true);
    faults(catalog, args[2], args[3]);
    System.out.println("done");
  }

  static void namespaces(String space) throws Exception {
    NamespaceApi namespaces = new NamespaceApi(server);
    String id = space + "$in";
    namespaces.createNamespace(id, new CreateNamespaceRequest().putPropertiesItem("a", "b"), null);
    equal(Map.of("a", "b"), namespaces.describeNamespace(id, new DescribeNamespaceRequest(), null).getProperties());
    refused(409, "already exists", () -> namespaces.createNamespace(id, new CreateNamespaceRequest(), null));
    namespaces.createNamespace(id, new CreateNamespaceRequest().mode("ExistOk"), null);
    namespaces.namespaceExists(space + ".in", new NamespaceExistsRequest(), ".");
    equal(Set.of("in"), namespaces.listNamespaces(space, null, null, null).getNamespaces());
    namespaces.dropNamespace(id, new DropNamespaceRequest(), null);
    refused(404, "does not exist", () -> namespaces.describeNamespace(id, new DescribeNamespaceRequest(), null));
    namespaces.dropNamespace(id, new DropNamespaceRequest().mode("Skip"), null);
    ApiClient stranger = new ApiClient().setBasePath(url);
    stranger.setApiKey("wrong");
    refused(401, "token", () -> new NamespaceApi(stranger).listNamespaces("$", null, null, null));
  }

  static void rowsAndQueries(String space) throws Exception {
    String id = space + "$rows";
    tables.createTable(id, rows("n", 0, 100), null, "Create", null, null);
    refused(409, "already exists", () -> tables.createTable(id, rows("n", 0, 1), null, "Create", null, null));
    tables.createTable(id, rows("n", 0, 1), null, "ExistOk", null, null);
    MergeInsertIntoTableResponse merged =
        tables.mergeInsertIntoTable(id, "id", rows("m", 95, 105), null, true, "target.id > 97", true, true, "id < 2", "30s", null);
    equal("2 5 2", merged.getNumUpdatedRows() + " " + merged.getNumInsertedRows() + " " + merged.getNumDeletedRows());
    equal(103L, tables.countTableRows(id, new CountTableRowsRequest(), null));
    equal(100L, tables.countTableRows(id, new CountTableRowsRequest().version(1L), null));
    equal(7L, tables.countTableRows(id, new CountTableRowsRequest().predicate("name LIKE 'm%'"), null));

    equal("2|n2 3|n3", query(id, new QueryTableRequest().filter("id < 4").k(10), "id", "name"));
    equal("3|n3", query(id, new QueryTableRequest().filter("id < 5").k(1).offset(1), "id", "name"));
    equal("0|50 0|49 1|2 1|3", query(id, new QueryTableRequest().k(2).filter("id < 51").prefilter(true)
        .vector(new QueryTableRequestVector().multiVector(List.of(List.of(50f, 0f), List.of(2f, 0f)))), "query_index", "id"));
    equal("4", query(id, new QueryTableRequest().filter("id = 2").k(1)
        .columns(new QueryTableRequestColumns().putColumnAliasesItem("twice", "id * 2")), "twice"));
    equal("1|1", query(id, new QueryTableRequest().filter("id = 1").version(1L).withRowId(true).k(1), "id", "_rowid"));
    QueryTableRequest filter = new QueryTableRequest().filter("id = 3").k(1);
    contains("Scan", tables.explainTableQueryPlan(id, new ExplainTableQueryPlanRequest().query(filter), null));
    contains("rows=1", tables.analyzeTableQueryPlan(id, new AnalyzeTableQueryPlanRequest().filter("id = 3").k(1), null));
    refused(400, "nope", () -> tables.queryTable(id, new QueryTableRequest().filter("nope = 3").k(1), null));
    equal(103L, tables.getTableStats(id, new GetTableStatsRequest(), null).getNumRows());
  }

  static void columnsAndIndices(String space) throws Exception {
    String id = space + "$columns";
    tables.createTable(id, rows("word ", 0, 300), null, "Create", null, null);
    tables.alterTableAddColumns(
        id, new AlterTableAddColumnsRequest().addNewColumnsItem(new AddColumnsEntry().name("twice").expression("id * 2")), null);
    tables.alterTableAlterColumns(id, new AlterTableAlterColumnsRequest()
        .addAlterationsItem(new AlterColumnsEntry().path("twice").dataType(Map.of("type", "int32")))
        .addAlterationsItem(new AlterColumnsEntry().path("name").rename("label")), null);
    DescribeTableRequest detailed = new DescribeTableRequest().loadDetailedMetadata(true);
    List<String> types = tables.describeTable(id, detailed, null, null, true, null).getSchema().getFields().stream()
        .map(field -> field.getName() + " " + field.getType().getType()).toList();
    equal(List.of("id int64", "label utf8", "vector fixed_size_list", "twice int32"), types);
    tables.alterTableDropColumns(id, new AlterTableDropColumnsRequest().addColumnsItem("twice"), null);

    tables.createTableScalarIndex(id, new CreateTableIndexRequest().column("id").indexType("BTREE"), null);
    tables.createTableIndex(id, new CreateTableIndexRequest().column("label").indexType("FTS").withPosition(true), null);
    tables.createTableIndex(
        id, new CreateTableIndexRequest().column("vector").indexType("IVF_FLAT").distanceType("l2").name("near"), null);
    waitFor(() -> tables.listTableIndices(id, new ListTableIndicesRequest(), null).getIndexes().size() == 3);
    equal(300L, Long.valueOf(tables.describeTableIndexStats(id, "near", new DescribeTableIndexStatsRequest(), null).getNumIndexedRows()));
    equal(List.of("id_idx", "label_idx", "near"),
        tables.listTableIndices(id, new ListTableIndicesRequest(), null).getIndexes().stream().map(IndexContent::getIndexName).sorted().toList());
    equal("7|word 7", query(id, new QueryTableRequest().k(3).fullTextQuery(new QueryTableRequestFullTextQuery()
        .stringQuery(new StringFtsQuery().query("7").addColumnsItem("label"))), "id", "label"));
    equal("7|word 7", query(id, new QueryTableRequest().k(3).fullTextQuery(new QueryTableRequestFullTextQuery().structuredQuery(
        new StructuredFtsQuery().query(new FtsQuery().phrase(new PhraseQuery().terms("word 7").column("label"))))), "id", "label"));
    equal("50 51", query(id, new QueryTableRequest().k(2).nprobes(10).refineFactor(1).filter("id >= 50").prefilter(true)
        .vector(new QueryTableRequestVector().singleVector(List.of(49f, 0f))), "id"));
    tables.dropTableIndex(id, "near", null);
    equal(2, tables.listTableIndices(id, new ListTableIndicesRequest(), null).getIndexes().size());
  }

  static void versionsAndTags(String space) throws Exception {
    String id = space + "$versions";
    tables.createTable(id, rows("n", 0, 3), null, "Create", null, null);
    tables.insertIntoTable(id, rows("n", 3, 5), null, "Append");
    tables.insertIntoTable(id, rows("n", 0, 1), null, "Overwrite");
    equal(List.of(3L, 2L, 1L), tables.listTableVersions(id, null, null, null, true).getVersions().stream().map(TableVersion::getVersion).toList());
    tables.createTableTag(id, new CreateTableTagRequest().tag("t").version(1L), null);
    tables.updateTableTag(id, new UpdateTableTagRequest().tag("t").version(2L), null);
    equal(2L, tables.getTableTagVersion(id, new GetTableTagVersionRequest().tag("t"), null).getVersion());
    equal(Set.of("t"), tables.listTableTags(id, null, null, null).getTags().keySet());
    tables.deleteTableTag(id, new DeleteTableTagRequest().tag("t"), null);
    refused(404, "t", () -> tables.getTableTagVersion(id, new GetTableTagVersionRequest().tag("t"), null));
    tables.restoreTable(id, new RestoreTableRequest().version(2L), null);
    equal(5L, tables.countTableRows(id, new CountTableRowsRequest(), null));
    String transaction = tables.renameTable(id, new RenameTableRequest().newTableName("renamed"), null).getTransactionId();
    new TransactionApi(server).describeTransaction(transaction, new DescribeTransactionRequest(), null);
    tables.tableExists(space + "$renamed", new TableExistsRequest(), null);
    refused(404, "does not exist", () -> { tables.tableExists(id, new TableExistsRequest(), null); return null; });
    equal(true, new NamespaceApi(server).listTables(space, null, null, null, null).getTables().contains("renamed"));
    equal(true, tables.listAllTables(null, null, null, null).getTables().contains(space + "$renamed"));
    equal(List.of(space, "renamed"), tables.dropTable(space + "$renamed", null).getId());
  }

  /** Several tables change as one. */
  static void batches(String managed) throws Exception {
    List<String> a = List.of(managed, "a"), b = List.of(managed, "b");
    tables.batchCommitTables(new BatchCommitTablesRequest()
        .addOperationsItem(new CommitTableOperation().declareTable(new DeclareTableRequest().id(a)))
        .addOperationsItem(new CommitTableOperation().declareTable(new DeclareTableRequest().id(b))), null);
    refused(409, "already exists", () -> tables.batchCommitTables(new BatchCommitTablesRequest()
        .addOperationsItem(new CommitTableOperation().deregisterTable(new DeregisterTableRequest().id(a)))
        .addOperationsItem(new CommitTableOperation().declareTable(new DeclareTableRequest().id(b))), null));
    tables.tableExists(managed + "$a", new TableExistsRequest(), null);
    tables.batchCommitTables(new BatchCommitTablesRequest()
        .addOperationsItem(new CommitTableOperation().deregisterTable(new DeregisterTableRequest().id(a)))
        .addOperationsItem(new CommitTableOperation().deregisterTable(new DeregisterTableRequest().id(b))), null);
    refused(404, "does not exist", () -> { tables.tableExists(managed + "$a", new TableExistsRequest(), null); return null; });
  }

  /** Native Lance writes a table, and the service sees all of it. */
  static void natively(LanceNamespace catalog, String space, boolean managed) throws Exception {
    List<String> id = List.of(space, "native");
    String joined = space + "$native";
    write(catalog, id, WriteParams.WriteMode.CREATE, rows("n", 0, 300));
    refused(0, "already exists", () -> { write(catalog, id, WriteParams.WriteMode.CREATE, rows("n", 0, 1)); return null; });
    write(catalog, id, WriteParams.WriteMode.APPEND, rows("n", 300, 310));
    try (Dataset table = Dataset.open().allocator(MEMORY).namespaceClient(catalog).tableId(id).build()) {
      table.addColumns(new SqlExpressions.Builder().withExpression("twice", "id * 2").build(), Optional.empty());
      table.alterColumns(List.of(new ColumnAlteration.Builder("name").rename("label").build()));
      table.dropColumns(List.of("twice"));
      index(table, "ids", "id", IndexType.BTREE, IndexParams.builder().setScalarIndexParams(ScalarIndexParams.create("btree")));
      index(table, "texts", "label", IndexType.INVERTED, IndexParams.builder().setScalarIndexParams(
          ScalarIndexParams.create("inverted", "{\"base_tokenizer\":\"simple\",\"language\":\"English\",\"with_position\":true}")));
      index(table, "near", "vector", IndexType.VECTOR, IndexParams.builder().setVectorIndexParams(VectorIndexParams.ivfFlat(2, DistanceType.L2)));
      equal("301", scan(table, new ScanOptions.Builder().fullTextQuery(FullTextQuery.match("n301", "label")).build()));
      equal("50 49", scan(table, new ScanOptions.Builder().limit(2)
          .nearest(new Query.Builder().setColumn("vector").setKey(new float[] {49.8f, 0}).setK(2).build()).build()));
      table.tags().create("built", table.version());
      table.delete("id >= 100");
      table.compact();
      equal(100L, table.countRows());
      try (Dataset old = table.checkoutTag("built")) {
        equal(310L, old.countRows());
      }

      equal(table.version(), tables.describeTable(joined, new DescribeTableRequest().loadDetailedMetadata(true), null, null, true, null).getVersion());
      equal(100L, tables.countTableRows(joined, new CountTableRowsRequest(), null));
      equal(310L, tables.countTableRows(joined, new CountTableRowsRequest()
          .version(tables.getTableTagVersion(joined, new GetTableTagVersionRequest().tag("built"), null).getVersion()), null));
      equal(List.of("ids", "near", "texts"), tables.listTableIndices(joined, new ListTableIndicesRequest(), null).getIndexes().stream()
          .map(IndexContent::getIndexName).sorted().toList());
      equal("7|n7", query(joined, new QueryTableRequest().k(3).fullTextQuery(new QueryTableRequestFullTextQuery()
          .stringQuery(new StringFtsQuery().query("n7").addColumnsItem("label"))), "id", "label"));
      equal("50|n50", query(joined, new QueryTableRequest().k(1)
          .vector(new QueryTableRequestVector().singleVector(List.of(50.1f, 0f))), "id", "label"));

      tables.deleteFromTable(joined, new DeleteFromTableRequest().predicate("id >= 10"), null);
      table.checkoutLatest();
      equal(10L, table.countRows());
      try (Dataset old = table.checkoutVersion(1)) {
        old.restore();
      }
      equal(300L, tables.countTableRows(joined, new CountTableRowsRequest(), null));
    }
    write(catalog, id, WriteParams.WriteMode.OVERWRITE, rows("o", 0, 2));
    equal("0|o0 1|o1", query(joined, new QueryTableRequest().k(5), "id", "name"));
  }

  /** What does not work in the clients: docs/clients/java.md lists it. */
  static void faults(LanceNamespace catalog, String space, String managed) throws Exception {
    List<String> id = List.of(space, "native");
    refused(0, "allowed: POST", () -> catalog.countTableRows(new CountTableRowsRequest().id(id)));
    String parse = "Failed to parse request JSON";
    refused(0, parse, () -> catalog.queryTable(new QueryTableRequest().id(id).filter("id = 1").k(1)));
    refused(0, parse, () -> catalog.explainTableQueryPlan(new ExplainTableQueryPlanRequest().id(id).query(new QueryTableRequest().k(1))));
    refused(0, parse, () -> catalog.analyzeTableQueryPlan(new AnalyzeTableQueryPlanRequest().id(id).filter("id = 1").k(1)));
    refused(0, parse, () -> catalog.alterTableAddColumns(new AlterTableAddColumnsRequest().id(id)
        .addNewColumnsItem(new AddColumnsEntry().name("c").expression("1"))));
    refused(0, parse, () -> catalog.alterTableAlterColumns(new AlterTableAlterColumnsRequest().id(id)
        .addAlterationsItem(new AlterColumnsEntry().path("name").rename("c"))));
    try (Dataset table = Dataset.open().allocator(MEMORY).namespaceClient(catalog).tableId(List.of(managed, "native")).build()) {
      refused(0, "", () -> table.createBranch("dev", Ref.ofMain()));
    }
    Map<String, String> storage = catalog.describeTable(new DescribeTableRequest().id(id)).getStorageOptions();
    try (Dataset table = Dataset.open().allocator(MEMORY).namespaceClient(catalog).tableId(id).build();
        Dataset branch = storage.isEmpty() ? table.createBranch("dev", Ref.ofMain()) : table.createBranch("dev", Ref.ofMain(), storage)) {
      branch.delete("id = 0");
      equal("2 1", table.countRows() + " " + branch.countRows());
    }
  }

  static void write(LanceNamespace catalog, List<String> id, WriteParams.WriteMode mode, byte[] stream) throws Exception {
    try (ArrowReader rows = new ArrowStreamReader(new ByteArrayInputStream(stream), MEMORY)) {
      Dataset.write().allocator(MEMORY).reader(rows).namespaceClient(catalog).tableId(id).mode(mode).execute().close();
    }
  }

  static void index(Dataset table, String name, String column, IndexType type, IndexParams.Builder params) {
    table.createIndex(IndexOptions.builder(List.of(column), type, params.build()).withIndexName(name).build());
  }

  /** Returns rows with ids from first to before end, as docs/clients/java.md makes them. */
  static byte[] rows(String prefix, int first, int end) throws IOException {
    Field item = Field.nullable("item", new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE));
    Schema schema = new Schema(List.of(
        Field.nullable("id", new ArrowType.Int(64, true)),
        Field.nullable("name", new ArrowType.Utf8()),
        new Field("vector", FieldType.nullable(new ArrowType.FixedSizeList(2)), List.of(item))));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (VectorSchemaRoot root = VectorSchemaRoot.create(schema, MEMORY); ArrowStreamWriter writer = new ArrowStreamWriter(root, null, out)) {
      root.allocateNew();
      FixedSizeListVector vector = (FixedSizeListVector) root.getVector("vector");
      Float4Vector items = (Float4Vector) vector.getDataVector();
      for (int i = 0; i < end - first; i++) {
        ((BigIntVector) root.getVector("id")).setSafe(i, first + i);
        ((VarCharVector) root.getVector("name")).setSafe(i, (prefix + (first + i)).getBytes());
        vector.setNotNull(i);
        items.setSafe(2 * i, first + i);
        items.setSafe(2 * i + 1, 0);
      }
      root.setRowCount(end - first);
      writer.start();
      writer.writeBatch();
    }
    return out.toByteArray();
  }

  static String query(String id, QueryTableRequest request, String... columns) throws Exception {
    byte[] file = tables.queryTable(id, request, null);
    return text(new ArrowFileReader(new ByteArrayReadableSeekableByteChannel(file), MEMORY), columns);
  }

  static String scan(Dataset table, ScanOptions options) throws Exception {
    try (LanceScanner scan = table.newScan(options)) {
      return text(scan.scanBatches(), "id");
    }
  }

  /** Returns the columns of the rows that a reader has, in one line. */
  static String text(ArrowReader reader, String... columns) throws IOException {
    StringJoiner rows = new StringJoiner(" ");
    while (reader.loadNextBatch()) {
      VectorSchemaRoot batch = reader.getVectorSchemaRoot();
      for (int i = 0; i < batch.getRowCount(); i++) {
        StringJoiner row = new StringJoiner("|");
        for (String column : columns) {
          row.add(String.valueOf(batch.getVector(column).getObject(i)));
        }
        rows.add(row.toString());
      }
    }
    reader.close();
    return rows.toString();
  }

  static void equal(Object want, Object got) {
    if (!want.equals(got)) {
      throw new AssertionError("got " + got + ", want " + want);
    }
  }

  static void contains(String part, String text) {
    if (!text.contains(part)) {
      throw new AssertionError(text + " does not contain " + part);
    }
  }

  /** Runs what has to fail, with a status if the exception has one, and the part in its text. */
  static void refused(int status, String part, Callable<Object> call) throws Exception {
    try {
      call.call();
    } catch (ApiException e) {
      equal(status, e.getCode());
      contains(part, e.getResponseBody());
      return;
    } catch (Exception e) {
      contains(part, String.valueOf(e.getMessage()));
      return;
    }
    throw new AssertionError("what should fail with " + part + " works");
  }

  static void waitFor(Callable<Boolean> reached) throws Exception {
    for (int tries = 0; !reached.call(); tries++) {
      if (tries == 600) {
        throw new AssertionError("nothing happens for a minute");
      }
      Thread.sleep(100);
    }
  }
}
