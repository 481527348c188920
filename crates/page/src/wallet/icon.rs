//! Draws the icon of a pass: a house on the brand colour. The icon is a PNG, because Apple Wallet
//! accepts no other format in a pass.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The file name and the width in pixels of each icon that Apple Wallet requires.
pub const SIZES: [(&str, u32); 3] = [("icon.png", 29), ("icon@2x.png", 58), ("icon@3x.png", 87)];

/// Number of sample points per pixel along each axis. More points give smoother edges.
const SAMPLES: u32 = 4;

/// Returns whether a point is inside the drawing of a house, which has a roof and walls with a
/// door. The coordinates are from 0 to 1.
fn is_house(x: f64, y: f64) -> bool {
    let is_roof = (0.22..=0.5).contains(&y) && (x - 0.5).abs() <= (y - 0.22) * 1.2;
    let is_wall = (0.5..=0.76).contains(&y) && (x - 0.5).abs() <= 0.24;
    let is_door = y >= 0.58 && (x - 0.5).abs() <= 0.07;
    (is_roof || is_wall) && !is_door
}

/// Draws an icon of `size` pixels. `ground` is the brand colour, and `ink` is the colour that is
/// readable on it.
#[must_use]
pub fn png(size: u32, [ground, ink]: [[u8; 3]; 2]) -> Vec<u8> {
    let mut rows = Vec::new();
    for y in 0..size {
        // In a PNG file, each row begins with the type of its filter. 0 means no filter.
        rows.push(0);
        for x in 0..size {
            let looks = (0..SAMPLES * SAMPLES).filter(|look| {
                let place = |pixel: u32, look: u32| {
                    (f64::from(pixel) + (f64::from(look) + 0.5) / f64::from(SAMPLES))
                        / f64::from(size)
                };
                is_house(place(x, look % SAMPLES), place(y, look / SAMPLES))
            });
            let covered = looks.count();
            for (ground, ink) in ground.into_iter().zip(ink) {
                let whole = usize::try_from(SAMPLES * SAMPLES).unwrap_or(1);
                let mixed =
                    (usize::from(ground) * (whole - covered) + usize::from(ink) * covered) / whole;
                rows.push(u8::try_from(mixed).unwrap_or(u8::MAX));
            }
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let packed = packed
        .write_all(&rows)
        .and_then(|()| packed.finish())
        .unwrap_or_default();
    let mut head = [size.to_be_bytes(), size.to_be_bytes()].concat();
    // The end of the PNG header: bit depth 8, colour type RGB, the only compression method, the
    // only filter method, no interlacing.
    head.extend([8, 2, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"IHDR", head), (b"IDAT", packed), (b"IEND", Vec::new())] {
        png.extend(u32::try_from(data.len()).unwrap_or_default().to_be_bytes());
        let body = [kind.as_slice(), &data].concat();
        png.extend(&body);
        png.extend(crc32fast::hash(&body).to_be_bytes());
    }
    png
}
