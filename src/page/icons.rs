//! Drawings of the icons that covers are chosen from (`searchCoverIcons`), as inline SVG: the page loads no picture for them.

use std::sync::LazyLock;

/// A line an icon: its name, a tab, what stands within its `svg`; see `data/README.md` for their source and licence.
const DRAWINGS: &str = include_str!("../../data/icons.tsv");

/// Every icon, by its name, in the order of the names.
static ICONS: LazyLock<Vec<(&'static str, &'static str)>> =
    LazyLock::new(|| DRAWINGS.lines().filter_map(|line| line.split_once('\t')).collect());

/// What stands within the `svg` of an icon: 24 by 24, strokes without a colour of their own.
#[must_use]
pub fn drawing(name: &str) -> Option<&'static str> {
    let place = ICONS.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(ICONS[place].1)
}

/// An icon in the colour of the text around it, with nothing to say to who does not see it; nothing for an unknown name.
#[must_use]
pub fn svg(name: &str) -> Option<String> {
    let drawing = drawing(name)?;
    Some(format!(
        "<svg class=\"icon\" aria-hidden=\"true\" width=\"24\" height=\"24\" viewBox=\"0 0 24 24\" fill=\"none\" stroke=\"currentColor\" \
         stroke-width=\"2\" stroke-linecap=\"round\" stroke-linejoin=\"round\">{drawing}</svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The catalogue by whose names covers are chosen.
    const CATALOGUE: &str = include_str!("../../data/icons.json");

    #[test]
    fn every_icon_of_the_catalogue_has_its_drawing() {
        assert!(ICONS.is_sorted());
        let names: serde_json::Map<String, serde_json::Value> = serde_json::from_str(CATALOGUE).unwrap();
        assert_eq!(ICONS.len(), names.len());
        assert!(names.keys().all(|name| svg(name).is_some_and(|svg| svg.contains("currentColor"))));
    }

    #[test]
    fn drawings_are_nothing_but_shapes() {
        let shapes = ["path", "circle", "ellipse", "line", "polygon", "polyline", "rect"];
        for (name, drawing) in ICONS.iter() {
            for part in drawing.split('<').skip(1) {
                let shape = part.split(' ').next().unwrap();
                assert!(shapes.contains(&shape) && part.ends_with("/>"), "{name}: {part}");
            }
            assert!(!drawing.contains(['\'', '&']), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_has_none() {
        for name in ["", "no-such-icon", "House", "house\t", "zzz"] {
            assert_eq!(svg(name), None, "{name}");
        }
        assert!(svg("wifi").unwrap().ends_with("<path d=\"M8.5 16.429a5 5 0 0 1 7 0\"/></svg>"));
    }
}
