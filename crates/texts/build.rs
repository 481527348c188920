//! Compiles the files in `texts/` into static tables. If a language lacks a text, has an additional
//! one, or has other placeholders than English, the build fails. The error names the file and the
//! text.

#[path = "build/catalog.rs"]
mod catalog;
#[path = "build/checks.rs"]
mod checks;
#[path = "build/code.rs"]
mod code;
#[path = "build/languages.rs"]
mod languages;
#[path = "build/tables.rs"]
mod tables;

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../texts");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={}", folder.display());
    let compiled = catalog::read(&folder)?.and_then(|files| tables::compile(&files));
    match compiled {
        Ok(tables) => {
            let target = env::var("OUT_DIR")?;
            for table in tables {
                fs::write(Path::new(&target).join(table.file), table.code)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(problems) => {
            for problem in problems {
                println!("cargo::error={problem}");
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
