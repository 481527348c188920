//! A text that is compressed once and sent many times, each time with a different end.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The header of a gzip member: magic number, deflate, no flags, no time, no hint, unknown system
/// (RFC 1952, 2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// The gzip header and the compressed beginning of a text, up to a byte boundary. `checksum` and
/// `length` are those of the uncompressed beginning.
#[derive(Debug)]
pub(super) struct CompressedPrefix {
    beginning: Bytes,
    checksum: u32,
    length: usize,
}

impl CompressedPrefix {
    pub(super) fn new(text: &[u8]) -> Self {
        let mut beginning = HEADER.to_vec();
        beginning.extend(deflate(text));
        Self {
            beginning: beginning.into(),
            checksum: crc32fast::hash(text),
            length: text.len(),
        }
    }

    /// Returns the text followed by `end` as a gzip member, in two parts. The second part contains
    /// `end` uncompressed, as one stored block (RFC 1951, 3.2.4). Such a block has at most 65,535
    /// bytes.
    pub(super) fn gzip(&self, end: &[u8]) -> [Bytes; 2] {
        let length = u16::try_from(end.len()).unwrap_or(u16::MAX);
        let end = &end[..usize::from(length)];
        let mut checksum = crc32fast::Hasher::new_with_initial(self.checksum);
        checksum.update(end);
        // The gzip format stores the length modulo 2³².
        let total_length =
            u32::try_from((self.length + end.len()) & 0xffff_ffff).unwrap_or_default();
        let mut trailer = Vec::with_capacity(1 + 2 + 2 + end.len() + 4 + 4);
        trailer.push(1);
        trailer.extend(length.to_le_bytes());
        trailer.extend((!length).to_le_bytes());
        trailer.extend(end);
        trailer.extend(checksum.finalize().to_le_bytes());
        trailer.extend(total_length.to_le_bytes());
        [self.beginning.clone(), trailer.into()]
    }
}

/// Compresses a text into deflate blocks that end at a byte boundary. The last block is not marked
/// as final.
fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(text).and_then(|()| encoder.flush());
    std::mem::take(encoder.get_mut())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_compressed_text_decompresses_with_any_ending(
            text in prop::collection::vec(any::<u8>(), 0..5_000),
            ends in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..4),
        ) {
            let prefix = CompressedPrefix::new(&text);
            for end in ends {
                let member = prefix.gzip(&end).concat();
                let mut read = Vec::new();
                flate2::read::GzDecoder::new(&member[..])
                    .read_to_end(&mut read)
                    .unwrap();
                prop_assert_eq!(read, [text.clone(), end].concat());
            }
        }
    }
}
