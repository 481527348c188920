//! Compresses the script of the API reference, which is compiled into the program. The script has
//! five megabytes, and the compressed script has less than a third of that.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let script = scalar_api_reference::get_asset("scalar.js")
        .ok_or("scalar.js is missing in the crate of the API reference")?;
    let directory = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut encoder = GzEncoder::new(
        File::create(directory.join("scalar.js.gz"))?,
        Compression::default(),
    );
    encoder.write_all(&script)?;
    encoder.finish()?;
    Ok(())
}
