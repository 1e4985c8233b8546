//! Which kinds a template renders, read from its text: watches, rights and pruning need them before anything is rendered.
//!
//! In: a template's source. Out: the kinds it states literally, and whether it may render others. Pure.

use crate::object::Gvk;

/// What a template's text says of kinds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stated {
    /// The kinds stated literally, in order, each once.
    pub kinds: Vec<Gvk>,
    /// Whether it may render several documents: the text has several, or begins one in a loop.
    pub several: bool,
    /// Whether some document computes its apiVersion or kind, or brings it in from another file.
    pub computed: bool,
    /// The key that the first document without its own line of it lacks.
    pub lacks: Option<&'static str>,
}

/// Looks at the top-level `apiVersion` and `kind` lines of each document. A document without both (an include, a loop
/// over documents) may render anything.
pub(super) fn stated(template: &str) -> Stated {
    let mut stated = Stated { several: begins_in_a_loop(template), ..Stated::default() };
    let mut count = 0;
    for document in documents(template) {
        let versions = literals(&document, "apiVersion:");
        let kinds = literals(&document, "kind:");
        if document.iter().any(|line| !is_silent(line)) {
            count += 1;
            stated.several |= count > 1;
        }
        let complete = !versions.is_empty() && versions.len() == kinds.len();
        if !complete && document.iter().any(|line| !is_silent(line)) {
            stated.computed = true;
            let lacking = [("apiVersion:", versions.is_empty()), ("kind:", kinds.is_empty())];
            let lacks = lacking.into_iter().find(|(_, lacks)| *lacks).map(|(key, _)| key);
            stated.lacks = stated.lacks.or(lacks);
        }
        for (version, kind) in versions.into_iter().zip(kinds) {
            match version.zip(kind).and_then(|(version, kind)| Gvk::parse(version, kind)) {
                Some(gvk) if !stated.kinds.contains(&gvk) => stated.kinds.push(gvk),
                Some(_) => {}
                None => stated.computed = true,
            }
        }
    }
    stated
}

fn documents(template: &str) -> Vec<Vec<&str>> {
    let mut documents = vec![Vec::new()];
    for line in template.lines() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            documents.push(Vec::new());
        } else if let Some(document) = documents.last_mut() {
            document.push(line);
        }
    }
    documents
}

fn begins_in_a_loop(template: &str) -> bool {
    let mut depth = 0_usize;
    let mut loops = template.lines().filter(|line| {
        let begins = |word| line.matches(word).count();
        let opened = begins("{% for ") + begins("{%- for ");
        depth = (depth + opened).saturating_sub(begins("endfor"));
        depth > 0 && (line.trim_end() == "---" || line.starts_with("--- "))
    });
    loops.next().is_some()
}

/// Blank, a comment, or a statement that prints nothing by itself.
fn is_silent(line: &str) -> bool {
    let line = line.trim();
    let brings_in = line.contains("include") || line.contains("call");
    line.is_empty() || line.starts_with('#') || (line.starts_with("{%") && !brings_in)
}

/// The values of a top-level key; `None` for one that is no literal.
fn literals<'a>(document: &[&'a str], key: &str) -> Vec<Option<&'a str>> {
    document
        .iter()
        .filter_map(|line| line.strip_prefix(key))
        .filter(|rest| rest.starts_with([' ', '\t']))
        .map(|rest| {
            let value = rest.split(" #").next().unwrap_or_default().trim();
            let bare = value.trim_matches(['"', '\'']);
            (!bare.is_empty() && !bare.contains(['{', '&', '*', '!'])).then_some(bare)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(template: &str) -> (Vec<String>, bool) {
        let stated = stated(template);
        (stated.kinds.iter().map(ToString::to_string).collect(), stated.computed)
    }

    #[test]
    fn a_document_in_a_loop_may_become_several() {
        let pod = "apiVersion: v1\nkind: Pod\n";
        for (template, several) in [
            (format!("---\n{pod}"), false),
            (format!("{pod}---\n{pod}"), true),
            (format!("{{% for x in y %}}\n---\n{pod}{{% endfor %}}\n"), true),
            (format!("{{%- for x in y -%}}\n--- # one\n{pod}{{%- endfor %}}\n"), true),
            (format!("{{% for x in y %}}{{% endfor %}}\n---\n{pod}"), false),
            (
                format!("---\n{pod}x:\n  {{% for x in y %}}\n  - {{{{ x }}}}\n  {{% endfor %}}\n"),
                false,
            ),
        ] {
            assert_eq!(stated(&template).several, several, "{template}");
        }
    }

    #[test]
    fn literal_kinds_are_read_and_others_are_noticed() {
        for (template, kinds, computed) in [
            ("apiVersion: v1\nkind: ConfigMap\nx: 1\n", vec!["v1 ConfigMap"], false),
            (
                "# a\napiVersion: \"apps/v1\" # b\nkind: 'Deployment'\n",
                vec!["apps/v1 Deployment"],
                false,
            ),
            (
                "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nkind: Secret\n---\n",
                vec!["v1 ConfigMap", "v1 Secret"],
                false,
            ),
            (
                "{% for x in y %}\n---\napiVersion: v1\nkind: Pod\n{% endfor %}\n",
                vec!["v1 Pod"],
                false,
            ),
            ("apiVersion: v1\nkind: {{ k }}\n", vec![], true),
            ("{% include 'a.yaml' %}\n", vec![], true),
            ("metadata: {}\n", vec![], true),
            (
                "apiVersion: v1\nkind: List\nspec:\n  kind: Nested\n  apiVersion: x\n",
                vec!["v1 List"],
                false,
            ),
        ] {
            assert_eq!(
                of(template),
                (kinds.iter().map(ToString::to_string).collect(), computed),
                "{template}"
            );
        }
    }
}
