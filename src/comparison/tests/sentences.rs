//! What verdicts say, and what they never say.

use super::*;

const SENTENCES: &str = r#"
{"of": "deployment", "path": "$.status.availableReplicas", "atLeast": 1}
    deployment $.status.availableReplicas is 0, should be at least 1
{"of": "deployment", "path": "$.status.readyReplicas", "default": 0, "atLeast": 1}
    deployment $.status.readyReplicas is 0 by default, should be at least 1
{"of": "deployment", "path": "$.status.replicas", "atLeast": 1}
    deployment $.status.replicas is 3, which is at least 1
{"of": "deployment", "path": "$.status.replicas", "equals": {"path": "$.five"}}
    deployment $.status.replicas is 3, should be 5 (parent $.five)
{"path": "$.five", "equals": 5}
    parent $.five is 5
{"path": "$.five", "notEquals": 5}
    parent $.five is 5, should not be 5
{"path": "$.five", "notEquals": 4}
    parent $.five is 5, which is not 4
{"not": {"path": "$.five", "equals": 5}}
    parent $.five is 5, should not be 5
{"not": {"path": "$.five", "notEquals": 5}}
    parent $.five is 5
{"not": {"path": "$.five", "atLeast": 9}}
    parent $.five is 5, which is not at least 9
{"path": "$.digits", "equals": 8080}
    parent $.digits is "8080" (text), should be 8080 (number)
{"path": "$.yes", "equals": "true"}
    parent $.yes is true (boolean), should be "true" (text)
{"path": "$.digits", "atLeast": 1}
    parent $.digits is "8080" (text), which is not a number, should be at least 1 (number)
{"path": "$.nothing", "equals": 1}
    parent $.nothing is missing, should be 1
{"not": {"path": "$.nothing", "equals": 1}}
    parent $.nothing is missing
{"path": "$.null", "moreThan": 1}
    parent $.null is null, which is not a number, should be more than 1
{"path": "$.five", "in": [1, "x"]}
    parent $.five is 5, should be one of 1, "x"
{"path": "$.five", "notIn": [5]}
    parent $.five is 5, should not be one of 5
{"path": "$.five", "in": {"path": "$.none"}}
    parent $.five is 5, should be one of an empty list (parent $.none)
{"path": "$.five", "in": [1, 2, 3, 4, 6, 7, 8]}
    parent $.five is 5, should be one of 1, 2, 3, 4, 6, 2 more
{"path": "$.text", "contains": "x"}
    parent $.text is "webapp", should contain "x"
{"path": "$.text", "contains": "app"}
    parent $.text is "webapp", which contains "app"
{"path": "$.one", "contains": "app"}
    parent $.one is 1 (number), which is not text, a list or a map, should contain "app" (text)
{"path": "$.text", "matches": "^x"}
    parent $.text is "webapp", should match "^x"
{"not": {"path": "$.text", "matches": "^w"}}
    parent $.text is "webapp", should not match "^w"
{"path": "$.nothing", "exists": true}
    parent $.nothing is missing, should exist
{"path": "$.null", "exists": true}
    parent $.null is null, should exist
{"path": "$.one", "exists": true}
    parent $.one exists
{"path": "$.one", "exists": false}
    parent $.one exists, should not
{"path": "$.null", "exists": false}
    parent $.null is null
{"not": {"path": "$.one", "exists": true}}
    parent $.one exists, should not
{"path": "$.cpu", "as": "quantity", "atLeast": "1"}
    parent $.cpu is "250m", should be at least "1"
{"path": "$.text", "as": "semver", "atLeast": "1.0.0"}
    parent $.text is "webapp", which is not a semantic version, should be at least "1.0.0"
{"of": "ns", "path": "$", "equals": "x"}
    ns is "shop", should be "x"
{"path": "$.ports[*].n", "atLeast": 100}
    parent $.ports[0].n is 80, should be at least 100
{"path": "$.mixed[*].n", "atLeast": 80}
    parent $.mixed[1].n is missing, should be at least 80
{"path": "$.ports[*].n", "atLeast": 1}
    every parent $.ports[*].n is at least 1
{"not": {"path": "$.ports[*].n", "atLeast": 1}}
    every parent $.ports[*].n is at least 1, one should not
{"not": {"path": "$.ports[*].n", "atLeast": 100}}
    parent $.ports[0].n is 80, which is not at least 100
{"path": "$.ports[*].n", "some": true, "atLeast": 9000}
    no parent $.ports[*].n is at least 9000, one should
{"path": "$.ports[*].n", "some": true, "moreThan": 100}
    parent $.ports[1].n is 443, which is more than 100
{"path": "$.none[*]", "atLeast": 1}
    there is no parent $.none[*], so each is at least 1
{"path": "$.none[*]", "some": true, "atLeast": 1}
    no parent $.none[*] is at least 1, one should
{"path": "$.none[*]", "exists": true}
    there is no parent $.none[*], should be
{"path": "$.none[*]", "exists": false}
    there is no parent $.none[*]
{"path": "$.ports[*].n", "exists": true}
    every parent $.ports[*].n exists
{"path": "$.ports[*].x", "exists": false}
    every parent $.ports[*].x is missing
{"path": "$.ports[*].x", "some": true, "exists": true}
    no parent $.ports[*].x exists, one should
{"path": "$.conditions[?@.type == 'X'].status", "equals": "True"}
    parent $.conditions[?].status is missing, should be "True"
{"path": "$.ports[*]", "count": {"atLeast": 4}}
    the number of parent $.ports[*] is 3, should be at least 4
{"path": "$.ports[*]", "count": {"equals": 3}}
    the number of parent $.ports[*] is 3
{"of": "service", "path": "$.x", "exists": true}
    service does not exist yet
{"allOf": [{"path": "$.one", "equals": 2}, {"path": "$.five", "equals": 5}, {"path": "$.zero", "atLeast": 1}]}
    parent $.one is 1, should be 2; parent $.zero is 0, should be at least 1
{"not": {"allOf": [{"path": "$.one", "equals": 1}, {"path": "$.five", "equals": 5}]}}
    none holds: parent $.one is 1, should not be 1; parent $.five is 5, should not be 5
{"anyOf": [{"path": "$.one", "equals": 2}, {"path": "$.five", "equals": 5}]}
    parent $.five is 5
"#;

#[test]
fn sentences_say_what_was_found_and_what_was_wanted() {
    for (value, [sentence]) in rows(SENTENCES) {
        assert_eq!(verdict(&value).sentence, sentence, "{value}");
    }
}

#[test]
fn secret_values_appear_in_no_sentence() {
    for (rest, [sentence]) in rows(
        r#"
{"equals": "hunter2"}
    creds $.data.password is a value of 7 characters
{"equals": "x"}
    creds $.data.password is a value of 7 characters, should be the value in the rule
{"notEquals": "hunter2"}
    creds $.data.password is a value of 7 characters, should not be the value in the rule
{"in": ["hunter2"]}
    creds $.data.password is a value of 7 characters, which is one of the value in the rule
{"contains": "hunt"}
    creds $.data.password is a value of 7 characters, which contains the value in the rule
{"matches": "hunter2"}
    creds $.data.password is a value of 7 characters, which matches the pattern in the rule
{"exists": true}
    creds $.data.password exists
{"equals": {"path": "$.text"}}
    creds $.data.password is a value of 7 characters, should be the value of parent $.text
{"equals": 8080}
    creds $.data.password is a value of 7 characters, should be the value in the rule
{"as": "semver", "atLeast": "1.0.0"}
    creds $.data.password is a value of 7 characters, which is not a semantic version, should be at least "1.0.0"
"#,
    ) {
        let mut value = at("$.data.password", &rest);
        value["of"] = json!("creds");
        assert_eq!(verdict(&value).sentence, sentence, "{value}");
        for value in [value.clone(), json!({"not": value})] {
            assert!(!verdict(&value).sentence.contains("hunter2"), "{value}");
        }
    }
    let same = json!({"path": "$.text", "equals": {"of": "creds", "path": "$.data.password"}});
    assert_eq!(
        verdict(&same).sentence,
        "parent $.text is a value of 6 characters, should be a value of 7 characters (creds $.data.password)"
    );
    let number = json!({"of": "creds", "path": "$.data.n", "atLeast": 5});
    assert_eq!(verdict(&number).sentence, "creds $.data.n is a hidden value, should be at least 5");
}
