//! Detects the media type of a file by its first bytes. The media type that the sender states and
//! the later bytes of the file are ignored.

/// The accepted kinds of files, as a phrase for messages.
pub(super) const ACCEPTED_FILE_TYPES: &str = "a JPEG, PNG, WebP, HEIC or PDF file";

/// The brands of HEIC images. The brand is the code of four letters that follows `ftyp` at the
/// beginning of the file and names the file's format.
const HEIC: [&[u8]; 6] = [b"heic", b"heix", b"heim", b"heis", b"heif", b"mif1"];

/// Returns the media type of a file that begins with the bytes `head`. Returns `None` if files of
/// this type are not accepted.
pub(super) fn detect_media_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..]
            if HEIC
                .iter()
                .any(|known_brand| brand.starts_with(known_brand)) =>
        {
            Some("image/heic")
        }
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        _ => None,
    }
}

/// Returns the file extensions of a media type, the usual extension first.
fn extensions(content_type: &str) -> &'static [&'static str] {
    match content_type {
        "image/jpeg" => &["jpg", "jpeg", "jpe", "jfif"],
        "image/png" => &["png"],
        "image/webp" => &["webp"],
        "image/heic" => &["heic", "heif"],
        "application/pdf" => &["pdf"],
        _ => &[],
    }
}

/// Maximum number of characters in a file name.
const NAME_LENGTH: usize = 200;
/// Maximum length of a file extension. Longer text after the last dot of a name is part of the
/// name.
const EXTENSION_LENGTH: usize = 5;

/// Returns a file's name with an extension that fits its detected type. Any other extension is
/// replaced, because the system of a person who downloads the file chooses a program by the
/// extension.
pub(super) fn with_extension(name: &str, content_type: &str) -> String {
    let accepted = extensions(content_type);
    let Some(usual) = accepted.first() else {
        return name.to_owned();
    };
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, Some(extension)),
        _ => (name, None),
    };
    if extension
        .is_some_and(|extension| accepted.contains(&extension.to_ascii_lowercase().as_str()))
    {
        return name.to_owned();
    }
    let is_extension = |text: &str| {
        (1..=EXTENSION_LENGTH).contains(&text.len())
            && text
                .chars()
                .all(|character| character.is_ascii_alphanumeric())
            && text.contains(|character: char| character.is_ascii_alphabetic())
    };
    let stem = if extension.is_some_and(is_extension) {
        stem
    } else {
        name
    };
    let stem = stem.trim_end_matches(['.', ' ']);
    let stem: String = stem.chars().take(NAME_LENGTH - 1 - usual.len()).collect();
    let stem = if stem.is_empty() { "file" } else { &stem };
    format!("{stem}.{usual}")
}

/// Returns whether a browser may show a file of this type instead of downloading it. Only types of
/// pictures qualify, because a picture cannot run a script.
pub(super) fn is_inline_type(content_type: &str) -> bool {
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
    fn content_that_is_not_an_accepted_type_is_refused() {
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
            assert_eq!(detect_media_type(head), None, "{head:?}");
        }
    }

    #[test]
    fn a_name_ends_with_the_extension_of_the_detected_type() {
        for (name, content_type, expected) in [
            ("passport.hta", "application/pdf", "passport.pdf"),
            ("passport.PDF", "application/pdf", "passport.PDF"),
            ("scan", "application/pdf", "scan.pdf"),
            ("photo.jpeg", "image/jpeg", "photo.jpeg"),
            ("IMG_1.HEIC", "image/jpeg", "IMG_1.jpg"),
            ("a.jpg.exe", "image/png", "a.jpg.png"),
            ("J. Smith", "image/png", "J. Smith.png"),
            ("report 2.1", "application/pdf", "report 2.1.pdf"),
            (".hta", "application/pdf", ".hta.pdf"),
            ("passport.hta. ", "application/pdf", "passport.hta.pdf"),
        ] {
            assert_eq!(with_extension(name, content_type), expected, "{name}");
        }
        assert_eq!(
            with_extension(&"x".repeat(200), "image/webp")
                .chars()
                .count(),
            NAME_LENGTH
        );
    }

    proptest! {
        #[test]
        fn a_name_is_given_its_extension_once(name in ".{1,60}") {
            let once = with_extension(&name, "image/png");
            prop_assert!(once.to_ascii_lowercase().ends_with(".png"));
            prop_assert_eq!(with_extension(&once, "image/png"), once);
        }

        /// Bytes after the first bytes of an accepted type do not change the detected type. Bytes
        /// before them make the type unknown.
        #[test]
        fn only_the_first_bytes_decide_the_media_type(
            rest in prop::collection::vec(any::<u8>(), 0..60),
            before in 1..=255_u8,
        ) {
            for (beginning, expected) in BEGINNINGS {
                prop_assert_eq!(
                    detect_media_type(&[beginning, &rest].concat()),
                    Some(expected)
                );
                let shifted = [&[b' ', before], beginning, &rest].concat();
                prop_assert_eq!(detect_media_type(&shifted), None);
            }
        }

        #[test]
        fn unknown_first_bytes_have_no_media_type(
            head in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let begins = |one: &[u8]| head.starts_with(one);
            let known = begins(b"\xFF\xD8\xFF")
                || begins(b"\x89PNG")
                || begins(b"RIFF")
                || begins(b"%PDF-")
                || head.get(4..8) == Some(b"ftyp");
            prop_assert!(known || detect_media_type(&head).is_none());
        }
    }
}
