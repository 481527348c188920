//! Lists the migrations, so that a new one is its two files and nothing else.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=migrations");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("migrations");
    let mut list = String::new();
    for database in ["sqlite", "postgres"] {
        let mut files: Vec<_> = fs::read_dir(root.join(database))?.map(|file| file.map(|file| file.path())).collect::<Result<_, _>>()?;
        files.sort();
        writeln!(list, "const {}: &[(&str, &str)] = &[", database.to_uppercase())?;
        for file in files {
            let name = file.file_stem().ok_or("a migration without a name")?.to_string_lossy();
            // By where the package is when it is compiled: what is listed here may be compiled in another checkout.
            let path = format!("/migrations/{database}/{name}.sql");
            writeln!(list, "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))),")?;
        }
        writeln!(list, "];")?;
    }
    Ok(fs::write(PathBuf::from(env::var("OUT_DIR")?).join("migrations.rs"), list)?)
}
