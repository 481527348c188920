//! What a schema's validator finds, said in the interface's words and of the right fields.

use std::borrow::Cow;

use schema::Failure as ValidationError;
use schema::error::{TypeKind, ValidationErrorKind as Failure};
use serde_json::Value;

use super::Shape;
use super::issues::Issues;
use crate::error::PathSegment;
use crate::format;

impl Shape {
    /// The same of a field at a path.
    fn stranger_at(&self, path: &[PathSegment]) -> &'static str {
        let keys = path.iter().filter_map(|step| if let PathSegment::Key(name) = step { Some(name.as_str()) } else { None });
        let keys: Vec<&str> = keys.collect();
        let known = self.misnomers.iter().find(|(end, _)| keys.ends_with(&end.split('.').collect::<Vec<_>>()));
        match (known, path) {
            (Some((_, words)), _) => words,
            (None, [PathSegment::Key(name)]) => self.stranger(name),
            (None, [PathSegment::Key(data), PathSegment::Key(name)]) if data == "data" && self.answer_fields.contains(name) => {
                "read-only field"
            }
            (None, _) => "unrecognized field",
        }
    }

    /// Notes a failure.
    pub(super) fn report(&self, error: &ValidationError<'_>, issues: &mut Issues) {
        let path = steps(error);
        match error.kind() {
            Failure::AdditionalProperties { unexpected } => {
                for name in unexpected {
                    let path = below(&path, name);
                    let words = self.stranger_at(&path);
                    issues.add(path, words);
                }
            }
            Failure::Required { property } => issues.add(below(&path, property.as_str().unwrap_or_default()), "is required"),
            Failure::AnyOf { context } | Failure::OneOfNotValid { context } => self.report_shapes(path, context, issues),
            kind => issues.add(path, describe(kind)),
        }
    }

    /// Of several shapes the one that was meant is the one whose tag is the value's, or else whose type fits; its failures say more.
    fn report_shapes(&self, path: Vec<PathSegment>, shapes: &[Vec<ValidationError<'_>>], issues: &mut Issues) {
        let tags: Vec<_> = shapes.iter().map(|errors| errors.iter().find_map(|error| wrong_tag(error, &path))).collect();
        if let Some(all) = tags.iter().cloned().collect::<Option<Vec<_>>>()
            && let Some((tag, _)) = all.first().cloned()
        {
            let known: Value = all.into_iter().map(|(_, value)| value).collect();
            return issues.add(tag, format!("must be one of {known}"));
        }
        let lacks = |name: &str| {
            let is_it = |error: &ValidationError<'_>| matches!(error.kind(), Failure::Required { property } if property == name);
            shapes.iter().all(|errors| errors.iter().any(is_it))
        };
        let missing = shapes.iter().flatten().find_map(|error| match error.kind() {
            Failure::Required { property } => property.as_str().filter(|name| lacks(name)),
            _ => None,
        });
        if let Some(name) = missing {
            return issues.add(below(&path, name), "is required");
        }
        let is_tagged = tags.iter().any(Option::is_some);
        let of_its_type = |errors: &[ValidationError<'_>]| {
            !errors.iter().any(|inner| steps(inner) == path && matches!(inner.kind(), Failure::Type { .. }))
        };
        let meant = shapes.iter().zip(&tags).find(
            |(errors, tag)| {
                if is_tagged { tag.is_none() } else { !errors.is_empty() && of_its_type(errors) }
            },
        );
        match meant {
            Some((errors, _)) => errors.iter().for_each(|inner| self.report(inner, issues)),
            None => issues.add(path, "has the wrong type"),
        }
    }
}

/// The place of a field that tells shapes apart, and what it would have to be for this one.
fn wrong_tag(error: &ValidationError<'_>, path: &[PathSegment]) -> Option<(Vec<PathSegment>, Value)> {
    let at = steps(error);
    let is_field = at.split_last().is_some_and(|(_, above)| above == path);
    match error.kind() {
        Failure::Constant { expected_value } if is_field => Some((at, (**expected_value).clone())),
        _ => None,
    }
}

fn below(path: &[PathSegment], name: &str) -> Vec<PathSegment> {
    path.iter().cloned().chain([PathSegment::from(name)]).collect()
}

fn steps(error: &ValidationError<'_>) -> Vec<PathSegment> {
    use schema::paths::LocationSegment as Segment;
    let step = |segment: Segment<'_>| match segment {
        Segment::Property(name) => PathSegment::Key(name.into_owned()),
        Segment::Index(index) => PathSegment::Index(index),
    };
    error.instance_path().into_iter().map(step).collect()
}

fn describe(kind: &Failure) -> Cow<'static, str> {
    match kind {
        Failure::Type { kind: TypeKind::Single(wanted) } => format!("must be of type {wanted}").into(),
        Failure::Type { kind: TypeKind::Multiple(wanted) } => {
            format!("must be of type {}", wanted.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")).into()
        }
        Failure::MinLength { limit: 1 } => "must not be empty".into(),
        Failure::MinLength { limit } => format!("must have at least {limit} characters").into(),
        Failure::MaxLength { limit } => format!("must have at most {limit} characters").into(),
        Failure::MinItems { limit } => format!("must have at least {limit} items").into(),
        Failure::MaxItems { limit } => format!("must have at most {limit} items").into(),
        Failure::MaxProperties { limit } => format!("must have at most {limit} fields").into(),
        Failure::PropertyNames { error } => format!("has a field whose name {}", describe(error.kind())).into(),
        Failure::UniqueItems => "must not name anything twice".into(),
        Failure::Minimum { limit } => format!("must be at least {limit}").into(),
        Failure::Maximum { limit } => format!("must be at most {limit}").into(),
        Failure::Enum { options } => format!("must be one of {options}").into(),
        Failure::Constant { expected_value } => format!("must be {expected_value}").into(),
        Failure::Pattern { pattern } if pattern == "\\S" => "must not be blank".into(),
        Failure::Pattern { pattern } => format!("must match {pattern}").into(),
        Failure::Format { format } => {
            let wanted = format::STATIC.iter().find(|known| known.name == format).map_or("valid", |known| known.wanted);
            format!("must be {wanted}").into()
        }
        _ => "is not valid".into(),
    }
}
