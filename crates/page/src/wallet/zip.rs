//! Writes a ZIP archive of a few small files without compression (PKWARE's application note, 4.3).

/// Version 2.0 of the ZIP format. Each entry of the archive contains this number twice: as the
/// version of the writer, and as the version that a reader needs.
const VERSION: u16 = 20;
/// 1 January 1980, the earliest possible date. Every archive has this date, so that an archive does
/// not reveal when it was made.
const DATE: u16 = 0x0021;

/// Returns an archive of these files, each with its name. There must be at most 65,535 files, with
/// at most 4 GiB in total, because this module does not write ZIP64.
#[must_use]
pub fn stored(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let offset = long(archive.len());
        let mut entry = Vec::new();
        // The fields of an entry, in the order that the ZIP format requires. The first five are the
        // version, the flags, the compression method (none), the time (midnight) and the date. Then
        // come the checksum, the compressed length, the uncompressed length, the length of the
        // name, and the length of the extra field (0).
        for number in [VERSION, 0, 0, 0, DATE] {
            entry.extend(number.to_le_bytes());
        }
        for number in [crc32fast::hash(bytes), long(bytes.len()), long(bytes.len())] {
            entry.extend(number.to_le_bytes());
        }
        entry.extend(short(name.len()).to_le_bytes());
        entry.extend(0_u16.to_le_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend(&entry);
        archive.extend(name.as_bytes());
        archive.extend(bytes);
        directory.extend(b"PK\x01\x02");
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&entry);
        // The zero bytes mean: no comment, the first disk, no internal attributes, and no external
        // attributes.
        directory.extend([0; 2 + 2 + 2 + 4]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (begins, length, count) = (
        long(archive.len()),
        long(directory.len()),
        short(files.len()),
    );
    archive.extend(directory);
    archive.extend(b"PK\x05\x06");
    archive.extend([0; 2 + 2]);
    archive.extend([count, count].iter().flat_map(|count| count.to_le_bytes()));
    archive.extend(
        [length, begins]
            .iter()
            .flat_map(|number| number.to_le_bytes()),
    );
    archive.extend([0; 2]);
    archive
}

fn long(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
