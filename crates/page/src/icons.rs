//! The icons that a host can choose as the cover of a manual (`searchCoverIcons`). They are inline
//! SVG, so that the page loads no image files for them.

use std::sync::LazyLock;

/// The drawings. Each line has the name of an icon, a tab, and the content of the `svg` element.
/// `data/README.md` names the source and the licence of the drawings.
const DRAWINGS: &str = include_str!("../../../data/icons.tsv");

/// The name and the content of all icons, sorted by name.
static ICONS: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    DRAWINGS
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect()
});

/// Returns the content of an icon's `svg` element. The view box is 24 by 24 units. The content sets
/// no stroke colour, so the `svg` element must set it.
#[must_use]
pub fn drawing(name: &str) -> Option<&'static str> {
    let place = ICONS.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(ICONS[place].1)
}

/// Returns an icon as an `svg` element in the colour of the surrounding text; `None` for an unknown
/// name. Screen readers skip the element.
#[must_use]
pub fn svg(name: &str) -> Option<String> {
    let drawing = drawing(name)?;
    Some(format!(
        "<svg class=\"icon\" aria-hidden=\"true\" width=\"24\" height=\"24\" viewBox=\"0 0 24 24\" \
            fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\">{drawing}</svg>"
    ))
}

/// Returns an empty square with the size of an icon. The page shows it for an icon with an unknown
/// name.
#[must_use]
pub fn blank() -> String {
    "<svg class=\"icon\" aria-hidden=\"true\" width=\"24\" height=\"24\" viewBox=\"0 0 24 \
        24\"></svg>"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The icons that the operation `searchCoverIcons` offers to hosts.
    const CATALOGUE: &str = include_str!("../../../data/icons.json");

    #[test]
    fn every_icon_of_the_catalogue_has_a_drawing() {
        assert!(ICONS.is_sorted());
        let names: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(CATALOGUE).unwrap();
        assert_eq!(ICONS.len(), names.len());
        assert!(
            names
                .keys()
                .all(|name| svg(name).is_some_and(|svg| svg.contains("currentColor")))
        );
    }

    #[test]
    fn drawings_contain_only_shapes() {
        let shapes = [
            "path", "circle", "ellipse", "line", "polygon", "polyline", "rect",
        ];
        for (name, drawing) in ICONS.iter() {
            for part in drawing.split('<').skip(1) {
                let shape = part.split(' ').next().unwrap();
                assert!(
                    shapes.contains(&shape) && part.ends_with("/>"),
                    "{name}: {part}"
                );
            }
            assert!(!drawing.contains(['\'', '&']), "{name}");
        }
    }

    #[test]
    fn an_unknown_icon_has_no_drawing() {
        for name in ["", "no-such-icon", "House", "house\t", "zzz"] {
            assert_eq!(svg(name), None, "{name}");
        }
        assert!(
            svg("wifi")
                .unwrap()
                .ends_with("<path d=\"M8.5 16.429a5 5 0 0 1 7 0\"/></svg>")
        );
    }
}
