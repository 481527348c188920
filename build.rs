//! Lists the migrations, so that adding a file is enough to add a migration.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=migrations");
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("migrations");
    let mut files: Vec<_> = fs::read_dir(folder)?
        .map(|file| file.map(|file| file.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut list = String::from("const ALL: &[(&str, &str)] = &[\n");
    for file in files {
        let name = file
            .file_stem()
            .ok_or("a migration file has no name")?
            .to_string_lossy();
        // The absolute path is built when the crate is compiled, not when this script runs. A
        // cached result of this script is therefore valid in another checkout.
        let path = format!("/migrations/{name}.sql");
        writeln!(
            list,
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))),"
        )?;
    }
    list.push_str("];\n");
    Ok(fs::write(
        PathBuf::from(env::var("OUT_DIR")?).join("migrations.rs"),
        list,
    )?)
}
