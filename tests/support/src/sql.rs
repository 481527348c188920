//! Runs SQL statements of a test on the database of the server under test.

use store::{Row, Statement, Value};

use super::App;

/// Returns a statement with this text, which both databases must accept.
pub fn statement(text: impl Into<String>) -> &'static Statement {
    // A statement must exist until the process ends. A test has few statements, so this leak of
    // memory is small.
    Box::leak(Box::new(Statement::new(Box::leak(
        text.into().into_boxed_str(),
    ))))
}

impl App {
    /// Returns the rows of a query, each converted by `read`.
    pub async fn query<T: Send + 'static>(
        &self,
        text: impl Into<String>,
        params: Vec<Value>,
        read: impl Fn(&Row) -> store::Result<T> + Send + 'static,
    ) -> Vec<T> {
        let statement = statement(text);
        let rows = self.server.service.store.read(move |tx| {
            tx.rows(statement, &params)?
                .iter()
                .map(read)
                .collect::<store::Result<_>>()
        });
        rows.await.unwrap()
    }

    /// Runs a statement that changes rows. Returns the number of affected rows.
    pub async fn change(&self, text: impl Into<String>, params: Vec<Value>) -> u64 {
        let statement = statement(text);
        self.server
            .service
            .store
            .write(move |tx| tx.execute(statement, &params))
            .await
            .unwrap()
    }

    /// Returns the columns of all tables. Each item contains the table, the column, its type, and
    /// whether the column may be null.
    pub async fn columns(&self) -> Vec<(String, String, String, bool)> {
        let text = if self.database_url.starts_with("sqlite:") {
            "select t.name, c.name, c.type, c.\"notnull\" = 0 from sqlite_master t \
                join pragma_table_xinfo(t.name) c
                where t.type = 'table' and c.hidden = 0 order by t.name, c.cid"
        } else {
            "select table_name::text, column_name::text, data_type::text,
                is_nullable = 'YES' from information_schema.columns
                where table_schema = current_schema() and is_generated = 'NEVER' \
                and table_name not like 'citus%' order by table_name, ordinal_position"
        };
        self.query(text, Vec::new(), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .await
    }
}
