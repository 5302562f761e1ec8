import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** What tools such as DBeaver do over JDBC: they read about the database, and run statements. It prints what they get. */
public class Suite {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("useEncryption", "false");
        properties.put("token", arguments[1]);
        String space = arguments[2];
        try (Connection connection = DriverManager.getConnection("jdbc:arrow-flight-sql://" + arguments[0], properties)) {
            DatabaseMetaData about = connection.getMetaData();
            System.out.println(about.getDatabaseProductName() + " " + about.getIdentifierQuoteString());
            System.out.println(rows(about.getCatalogs(), 1));
            System.out.println(rows(about.getSchemas(null, space), 1));
            System.out.println(rows(about.getTableTypes(), 1));
            System.out.println(rows(about.getTables(null, space, "%", null), 4));
            System.out.println(rows(about.getColumns(null, space, "docs", "%"), 6));
            System.out.println(rows(about.getPrimaryKeys(null, space, "docs"), 1));
            try (Statement statement = connection.createStatement()) {
                System.out.println(rows(statement.executeQuery("SELECT count(*) FROM " + space + ".docs"), 1));
                System.out.println(rows(statement.executeQuery("SELECT id, word FROM \"" + space + "\".\"docs\" ORDER BY id"), 2));
                try {
                    statement.executeQuery("SELECT id FROM " + space + ".nothing");
                } catch (SQLException e) {
                    System.out.println(e.getMessage().contains("does not exist"));
                }
            }
            String query = "SELECT id FROM " + space + ".docs WHERE id > ? AND word <> ? ORDER BY id LIMIT ?";
            try (PreparedStatement prepared = connection.prepareStatement(query)) {
                for (int least = 0; least < 2; least++) {
                    prepared.setInt(1, least);
                    prepared.setString(2, "bee");
                    prepared.setLong(3, 1);
                    System.out.println(rows(prepared.executeQuery(), 1));
                }
            }
        }
    }

    /** Reads some columns of all rows. */
    static List<List<Object>> rows(ResultSet result, int columns) throws SQLException {
        List<List<Object>> all = new ArrayList<>();
        try (result) {
            while (result.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= columns; i++) {
                    row.add(result.getObject(i));
                }
                all.add(row);
            }
        }
        return all;
    }
}
