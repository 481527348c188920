//! Converts the failures of the schema validator to issues.

use schema::Failure as ValidationError;
use schema::error::{TypeKind, ValidationErrorKind as Failure};
use serde_json::{Map, Value};

use super::issues::Issues;
use super::{Shape, unknown};
use crate::error::{PathSegment, Reason};
use crate::format;

impl Shape {
    /// Returns the reason for a field that the operation does not accept. `siblings` are the
    /// schemas of the accepted fields beside it.
    fn stranger_at(&self, path: &[PathSegment], siblings: Option<&Value>) -> Reason {
        let keys = path.iter().filter_map(|step| {
            if let PathSegment::Key(name) = step {
                Some(name.as_str())
            } else {
                None
            }
        });
        let keys: Vec<&str> = keys.collect();
        let hint = self
            .misnomers
            .iter()
            .find(|(end, _)| keys.ends_with(&end.split('.').collect::<Vec<_>>()));
        match (hint, path) {
            (Some((_, message)), _) => Reason::from(*message),
            (None, [PathSegment::Key(name)]) => self.unknown_field(name),
            (None, [PathSegment::Key(data), PathSegment::Key(name)])
                if data == "data" && self.answer_fields.contains(name) =>
            {
                Reason::ReadOnly
            }
            (None, _) => {
                let sibling_names = siblings
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(Map::keys);
                unknown(keys.last().copied().unwrap_or_default(), sibling_names)
            }
        }
    }

    /// Converts a failure of the validator to issues, and adds them.
    pub(super) fn report(&self, error: &ValidationError<'_>, issues: &mut Issues) {
        let path = segments(error);
        match error.kind() {
            Failure::AdditionalProperties { unexpected } => {
                // The schema with the keyword `additionalProperties` also lists the names of the
                // accepted fields.
                let keyword = error.schema_path().as_str();
                let siblings = keyword.rsplit_once('/').and_then(|(parent, _)| {
                    self.schema_json.pointer(&format!("{parent}/properties"))
                });
                for name in unexpected {
                    issues.add_with(child_path(&path, name), |path| {
                        self.stranger_at(path, siblings)
                    });
                }
            }
            Failure::Required { property } => issues.add(
                child_path(&path, property.as_str().unwrap_or_default()),
                Reason::Required,
            ),
            Failure::AnyOf { context } | Failure::OneOfNotValid { context } => {
                self.report_shapes(path, context, issues);
            }
            kind => issues.add(path, describe(kind)),
        }
    }

    /// Adds the issues of a value that matches none of several schemas. Reports only the failures
    /// of the schema that the client probably meant. If the value has a tag (a field for which each
    /// schema requires another constant), this is the schema with that constant. Otherwise it is
    /// the schema for the type of the value.
    fn report_shapes(
        &self,
        path: Vec<PathSegment>,
        shapes: &[Vec<ValidationError<'_>>],
        issues: &mut Issues,
    ) {
        let tags: Vec<_> = shapes
            .iter()
            .map(|errors| errors.iter().find_map(|error| wrong_tag(error, &path)))
            .collect();
        if let Some(all) = tags.iter().cloned().collect::<Option<Vec<_>>>()
            && let Some((tag, _)) = all.first().cloned()
        {
            let values: Value = all.into_iter().map(|(_, value)| value).collect();
            return issues.add(tag, Reason::OneOf(values.to_string()));
        }
        let is_always_missing = |name: &str| {
            let is_missing = |error: &ValidationError<'_>| {
                matches!(
                    error.kind(),
                    Failure::Required { property } if property == name
                )
            };
            shapes.iter().all(|errors| errors.iter().any(is_missing))
        };
        let missing = shapes
            .iter()
            .flatten()
            .find_map(|error| match error.kind() {
                Failure::Required { property } => {
                    property.as_str().filter(|name| is_always_missing(name))
                }
                _ => None,
            });
        if let Some(name) = missing {
            return issues.add(child_path(&path, name), Reason::Required);
        }
        let is_tagged = tags.iter().any(Option::is_some);
        let has_right_type = |errors: &[ValidationError<'_>]| {
            !errors.iter().any(|inner| {
                segments(inner) == path && matches!(inner.kind(), Failure::Type { .. })
            })
        };
        let intended = shapes.iter().zip(&tags).find(|(errors, tag)| {
            if is_tagged {
                tag.is_none()
            } else {
                !errors.is_empty() && has_right_type(errors)
            }
        });
        match intended {
            Some((errors, _)) => errors.iter().for_each(|inner| self.report(inner, issues)),
            None => issues.add(path, Reason::WrongType),
        }
    }
}

/// Returns the path of a wrong tag directly below `path`, and the value that the schema requires
/// there. A tag is a field whose constant value tells which of several schemas applies.
fn wrong_tag(
    error: &ValidationError<'_>,
    path: &[PathSegment],
) -> Option<(Vec<PathSegment>, Value)> {
    let tag_path = segments(error);
    let is_field = tag_path
        .split_last()
        .is_some_and(|(_, above)| above == path);
    match error.kind() {
        Failure::Constant { expected_value } if is_field => {
            Some((tag_path, expected_value.clone()))
        }
        _ => None,
    }
}

fn child_path(path: &[PathSegment], name: &str) -> Vec<PathSegment> {
    path.iter()
        .cloned()
        .chain([PathSegment::from(name)])
        .collect()
}

fn segments(error: &ValidationError<'_>) -> Vec<PathSegment> {
    use schema::paths::LocationSegment as Segment;
    let step = |segment: Segment<'_>| match segment {
        Segment::Property(name) => PathSegment::Key(name.into_owned()),
        Segment::Index(index) => PathSegment::Index(index),
    };
    error.instance_path().into_iter().map(step).collect()
}

fn describe(kind: &Failure) -> Reason {
    match kind {
        Failure::Type {
            kind: TypeKind::Single(description),
        } => Reason::Type(description.to_string()),
        Failure::Type {
            kind: TypeKind::Multiple(description),
        } => Reason::Type(
            description
                .iter()
                .map(|kind| kind.to_string())
                .collect::<Vec<_>>()
                .join(" or "),
        ),
        Failure::MinLength { limit: 1 } => Reason::Empty,
        Failure::MinLength { limit } => Reason::MinLength(*limit),
        Failure::MaxLength { limit } => Reason::MaxLength(*limit),
        Failure::MinItems { limit } => Reason::MinItems(*limit),
        Failure::MaxItems { limit } => Reason::MaxItems(*limit),
        Failure::MaxProperties { limit } => Reason::MaxFields(*limit),
        Failure::PropertyNames { error } => Reason::FieldName(Box::new(describe(error.kind()))),
        Failure::UniqueItems => Reason::Twice,
        Failure::Minimum { limit } => Reason::Minimum(limit.to_string()),
        Failure::Maximum { limit } => Reason::Maximum(limit.to_string()),
        Failure::Enum { options } => Reason::OneOf(options.to_string()),
        Failure::Constant { expected_value } => Reason::Exactly(expected_value.to_string()),
        Failure::Pattern { pattern } if pattern == "\\S" => Reason::Blank,
        Failure::Pattern { pattern } => Reason::Pattern(pattern.clone()),
        Failure::Format { format } if format == "not-blank" => Reason::Blank,
        Failure::Format { format } => {
            let description = format::STATIC
                .iter()
                .find(|entry| entry.name == format)
                .map_or("valid", |entry| entry.description);
            Reason::Format(format.clone(), description)
        }
        _ => Reason::Invalid,
    }
}
