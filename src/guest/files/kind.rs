//! What a file is, told by its first bytes. What its sender says of it, and what stands further on in it, counts for nothing.

/// What guests may hand in, in words.
pub(super) const KINDS: &str = "a JPEG, PNG, WebP, HEIC or PDF file";

/// The brands by which a HEIC image names itself.
const HEIC: [&[u8]; 6] = [b"heic", b"heix", b"heim", b"heis", b"heif", b"mif1"];

/// The media type of a file that guests may hand in; none of any other.
pub(super) fn kind(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] if HEIC.iter().any(|known| brand.starts_with(known)) => Some("image/heic"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        _ => None,
    }
}

/// Whether a browser shows a file of this type as a picture, and does nothing else with it.
pub(super) fn is_shown(content_type: &str) -> bool {
    matches!(content_type, "image/jpeg" | "image/png" | "image/webp")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BEGINNINGS: [(&[u8], &str); 6] = [
        (b"\xFF\xD8\xFF\xE0\0\x10JFIF", "image/jpeg"),
        (b"\x89PNG\r\n\x1A\n", "image/png"),
        (b"RIFF\x24\0\0\0WEBP", "image/webp"),
        (b"\0\0\0\x18ftypheic", "image/heic"),
        (b"\0\0\0\x18ftypmif1", "image/heic"),
        (b"%PDF-1.7", "application/pdf"),
    ];

    #[test]
    fn what_is_no_such_file_is_not_taken_whatever_it_claims() {
        for head in [
            &b""[..],
            b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
            b"<!doctype html><script>alert(1)</script>",
            b" %PDF-1.7",
            b"junk\n%PDF-1.7",
            b"\xEF\xBB\xBF%PDF-1.7",
            b"GIF89a",
            b"PK\x03\x04",
            b"MZ\x90\0",
            b"RIFF\x24\0\0\0WAVE",
            b"\0\0\0\x18ftypavif",
            b"\0\0\0\x18ftypmp42",
            b"\0\0\0\x18ftyp",
            b"\xFF\xD8",
            b"\x89PNG",
        ] {
            assert_eq!(kind(head), None, "{head:?}");
        }
    }

    proptest! {
        /// What follows the beginning changes nothing, and what precedes it is what counts.
        #[test]
        fn the_beginning_alone_decides(rest in prop::collection::vec(any::<u8>(), 0..60), before in 1..=255_u8) {
            for (beginning, wanted) in BEGINNINGS {
                prop_assert_eq!(kind(&[beginning, &rest].concat()), Some(wanted));
                let shifted = [&[b' ', before], beginning, &rest].concat();
                prop_assert_eq!(kind(&shifted), None);
            }
        }

        #[test]
        fn what_begins_otherwise_is_nothing(head in prop::collection::vec(any::<u8>(), 0..64)) {
            let begins = |one: &[u8]| head.starts_with(one);
            let known = begins(b"\xFF\xD8\xFF") || begins(b"\x89PNG") || begins(b"RIFF") || begins(b"%PDF-") || head.get(4..8) == Some(b"ftyp");
            prop_assert!(known || kind(&head).is_none());
        }
    }
}
