//! The stay as a pass for Apple Wallet. A pass is a ZIP file. It contains the content, the icons,
//! the checksums of these files, and a signature of the checksums.
//!
//! Module [`pass`] builds the content, [`signer`] signs the checksums, [`icon`] draws the icons,
//! and [`zip`] writes the file. A pass is built for each request and not stored. It contains the
//! door code while the code is valid. Phones fetch updates from [`service`]. [`pushes`] finds
//! passes that have changed, and makes phones fetch them through [`apns`].

mod apns;
mod icon;
mod pass;
mod pushes;
mod service;
mod signer;
mod zip;

use std::collections::BTreeMap;

use engine::error::{Error, Result};
use jiff::Timestamp;
use serde_json::Value;

pub use apns::Apns;
pub use pass::pass;
pub use pushes::PassPushes;
pub use service::routes;
pub use signer::PassSigner;

/// Builds the ZIP file of a pass with the content `pass`. `brand` has the brand colour of the icons
/// and the text colour on it. The signature contains the time `now`.
pub fn package(
    signer: &PassSigner,
    pass: &Value,
    brand: [[u8; 3]; 2],
    now: Timestamp,
) -> Result<Vec<u8>> {
    let mut files = vec![("pass.json", pass.to_string().into_bytes())];
    files.extend(icon::SIZES.map(|(name, size)| (name, icon::png(size, brand))));
    let sums: BTreeMap<&str, String> = files
        .iter()
        .map(|(name, bytes)| (*name, sha1_smol::Sha1::from(bytes).digest().to_string()))
        .collect();
    let manifest = serde_json::to_vec(&sums).map_err(Error::internal)?;
    let signature = signer.sign(&manifest, now).map_err(Error::internal)?;
    files.extend([("manifest.json", manifest), ("signature", signature)]);
    Ok(zip::stored(&files))
}
