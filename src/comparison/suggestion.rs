//! "Did you mean …": the known word that is closest to a wrong one.
//!
//! In: words. Out: one of the known ones, if it is close enough. Never here: accepting the wrong one.

/// The closest of the known words, at most a third of its letters away (neighbours that changed places count as one
/// letter); else the only one that begins or is begun like the wrong one. The first of several that are as close.
pub fn closest<'k>(wrong: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let wrong: Vec<char> = wrong.to_lowercase().chars().take(MAX_LENGTH).collect();
    let known: Vec<(Vec<char>, &str)> =
        known.into_iter().map(|word| (word.to_lowercase().chars().collect(), word)).collect();
    let near = known
        .iter()
        .map(|(letters, word)| (distance(&wrong, letters), letters.len(), *word))
        .filter(|(distance, length, _)| *distance <= length.div_ceil(3))
        .min_by_key(|(distance, ..)| *distance);
    if let Some((.., word)) = near {
        return Some(word);
    }
    let mut alike = known.iter().filter(|(letters, _)| begin_alike(&wrong, letters));
    match (alike.next(), alike.next()) {
        (Some((_, word)), None) => Some(word),
        _ => None,
    }
}

/// Longer words are compared by their start.
const MAX_LENGTH: usize = 64;

/// Whether words have so long a beginning in common that one is a form of the other: `childs`, `children`.
fn begin_alike(left: &[char], right: &[char]) -> bool {
    let common = left.iter().zip(right).take_while(|(l, r)| l == r).count();
    common >= 4 && common * 2 >= left.len().max(right.len())
}

/// Letters to put in, take out, change or swap with their neighbour, row by row.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (at, l) in left.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(at + 1);
        for (index, r) in right.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let mut best = cell(&last, index) + usize::from(l != r);
            best = best.min(cell(&last, index + 1) + 1).min(cell(&row, index) + 1);
            let swapped = at > 0
                && index > 0
                && left.get(at - 1) == Some(r)
                && right.get(index - 1) == Some(l);
            if swapped {
                best = best.min(cell(&before_last, index - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_word_is_found_and_far_ones_are_not() {
        let known = ["deployment", "service", "config"];
        for (wrong, expected) in [
            ("deploymnt", Some("deployment")),
            ("Deployment", Some("deployment")),
            ("servcie", Some("service")),
            ("confg", Some("config")),
            ("config-map", Some("config")),
            ("configuration", None),
            ("ingress", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(closest(wrong, known), expected, "{wrong}");
        }
        assert_eq!(closest("as", ["is", "at"]), Some("is"));
        assert_eq!(closest("ulr", ["url", "host"]), Some("url"));
        assert_eq!(closest("childs", ["children", "status"]), Some("children"));
        assert_eq!(closest("uppercase", ["upper", "lower"]), Some("upper"));
        assert_eq!(closest("template", ["templated", "templates"]), Some("templated"));
        assert_eq!(closest("childs", ["childlike", "childhood"]), None, "either could be meant");
        assert_eq!(closest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn distances_count_what_fingers_do() {
        let of = |left: &str, right: &str| {
            distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        for (left, right, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("slef", "self", 1),
        ] {
            assert_eq!(of(left, right), expected, "{left} {right}");
        }
    }
}
