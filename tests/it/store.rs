//! The product's statements and the schemas of both databases.

use crate::support::App;
use crate::support::on_both;

on_both! {
    async fn every_statement_fits_the_schema(app: App) {
        let statements = vestibule::statements();
        assert!(statements.len() > 60, "{}", statements.len());
        app.server.service.store.write(move |tx| {
            for statement in statements {
                tx.prepare(statement)?;
            }
            Ok::<_, store::Error>(())
        }).await.unwrap();
    }
}

/// Every file that declares statements is in the list that the test above prepares.
#[test]
fn every_declaration_is_listed() {
    fn count(directory: &std::path::Path) -> usize {
        std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                if path.is_dir() {
                    return count(&path);
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let Some((_, rest)) = text.split_once("\nstore::statements! {") else { return 0 };
                let block = rest.split("\n}").next().unwrap();
                block
                    .lines()
                    .filter(|line| line.contains(" = \""))
                    .filter(|line| !line.trim_start().starts_with("///"))
                    .filter(|line| line.trim_start().chars().next().is_some_and(char::is_uppercase))
                    .count()
            })
            .sum()
    }
    let declared = count(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert_eq!(vestibule::statements().len(), declared);
}
