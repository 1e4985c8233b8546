//! Filters of numbers.
//!
//! In: a number, or a text that is one. Out: a number. Never here: quantities with a unit.

use super::guard::of_value;
use super::{Entry, EntryKind, Example};
use minijinja::filters;

macro_rules! filter {
    ($name:literal, $doc:literal, $template:literal, $output:literal, $function:expr) => {
        Entry {
            kind: EntryKind::Filter,
            name: $name,
            aliases: &[],
            doc: $doc,
            example: Example { template: $template, output: $output },
            add: |env, name| env.add_filter(name, of_value($function)),
        }
    };
}

pub(super) static ENTRIES: &[Entry] = &[
    filter!(
        "int",
        "The whole number that a text says, or a fraction without what follows its point.",
        "{{ '42'|int + 1 }}",
        "43",
        filters::int
    ),
    filter!("float", "The fraction that a text says.", "{{ '1.5'|float }}", "1.5", filters::float),
    filter!(
        "bool",
        "Whether a value is neither empty, zero, null nor false.",
        "{{ []|bool }}",
        "false",
        filters::bool
    ),
    filter!("abs", "The number without its sign.", "{{ -3|abs }}", "3", filters::abs),
    filter!(
        "round",
        "The nearest number with so many digits after its point (none without an argument).",
        "{{ 2.46|round(1) }}",
        "2.5",
        filters::round
    ),
    filter!("min", "The least item of a list.", "{{ [3, 1, 2]|min }}", "1", filters::min),
    filter!("max", "The greatest item of a list.", "{{ [3, 1, 2]|max }}", "3", filters::max),
    filter!("sum", "The items of a list added up.", "{{ [3, 1, 2]|sum }}", "6", filters::sum),
];
