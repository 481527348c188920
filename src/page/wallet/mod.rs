//! A stay as a pass for Apple Wallet: a ZIP of what it says, its icons, their sums, and a signature over those.
//!
//! [`pass`] has what it says, [`signer`] who vouches for it, [`icon`] and [`zip`] what it is packed in. A pass is made anew
//! whenever it is asked for. It holds no door code and names no address to be brought up to date from, so that there is nothing
//! in it to be taken back.

mod icon;
mod pass;
mod signer;
mod zip;

use std::collections::BTreeMap;

use engine::error::{Error, Result};
use jiff::Timestamp;
use serde_json::Value;

pub use pass::pass;
pub use signer::PassSigner;

/// A pass of these contents, in colours of the brand, signed at a moment.
pub fn package(signer: &PassSigner, pass: &Value, brand: [[u8; 3]; 2], now: Timestamp) -> Result<Vec<u8>> {
    let mut files = vec![("pass.json", pass.to_string().into_bytes())];
    files.extend(icon::SIZES.map(|(name, size)| (name, icon::png(size, brand))));
    let sums: BTreeMap<&str, String> =
        files.iter().map(|(name, bytes)| (*name, sha1_smol::Sha1::from(bytes).digest().to_string())).collect();
    let manifest = serde_json::to_vec(&sums).map_err(Error::internal)?;
    let signature = signer.sign(&manifest, now).map_err(Error::internal)?;
    files.extend([("manifest.json", manifest), ("signature", signature)]);
    Ok(zip::stored(&files))
}
