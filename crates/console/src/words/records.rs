//! Texts that depend on the record kind.

use texts::console::ConsoleRecordsWords;

use features::records::RecordKind;

/// Returns the title for the records of a kind.
pub const fn records_title(words: &ConsoleRecordsWords, kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::PropertyGroup => words.groups,
        RecordKind::Tag => words.tags,
        RecordKind::Reservation => words.stays,
        RecordKind::PaymentAccount => words.accounts,
        RecordKind::CustomUrl => words.domains,
        RecordKind::FeeProduct => words.fees,
        RecordKind::DamageWaiver => words.waivers,
        RecordKind::CustomField => words.custom_fields,
        RecordKind::Upsell => words.extras,
        RecordKind::LockCode => words.codes,
        RecordKind::Instruction => words.instructions,
        RecordKind::BackgroundCheckAccount => words.checks,
        // Of the record kinds below, only flats have a tab in the console. This function is never
        // called with the others.
        RecordKind::Property
        | RecordKind::Task
        | RecordKind::Device
        | RecordKind::Review
        | RecordKind::Workflow
        | RecordKind::WorkflowStepRun
        | RecordKind::Image
        | RecordKind::TaskTemplate
        | RecordKind::Department
        | RecordKind::Shift
        | RecordKind::ClockedShift => words.flats,
    }
}

/// Returns the label of the button that adds a record of a kind.
pub const fn add_label(words: &ConsoleRecordsWords, kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::PropertyGroup => words.new_group,
        RecordKind::Tag => words.new_tag,
        RecordKind::Reservation => words.new_stay,
        RecordKind::PaymentAccount => words.new_account,
        RecordKind::CustomUrl => words.new_domain,
        RecordKind::FeeProduct => words.new_fee,
        RecordKind::DamageWaiver => words.new_waiver,
        RecordKind::CustomField => words.new_custom_field,
        RecordKind::Upsell => words.new_extra,
        RecordKind::LockCode => words.new_code,
        RecordKind::Instruction => words.new_instruction,
        RecordKind::BackgroundCheckAccount => words.new_check,
        // Of the record kinds below, only flats have a tab in the console. This function is never
        // called with the others.
        RecordKind::Property
        | RecordKind::Task
        | RecordKind::Device
        | RecordKind::Review
        | RecordKind::Workflow
        | RecordKind::WorkflowStepRun
        | RecordKind::Image
        | RecordKind::TaskTemplate
        | RecordKind::Department
        | RecordKind::Shift
        | RecordKind::ClockedShift => words.new_flat,
    }
}
