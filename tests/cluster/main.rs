//! Everything that needs an API server, against one real control plane that is started once and shared.
//! Each test has a namespace and a controller of its own, and they run side by side.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test program; the lints know only functions that are marked as tests"
)]

mod builtin_kinds;
mod chart;
mod concurrency;
mod control_plane;
mod deletion;
mod dev;
mod events;
mod explain;
mod faults;
mod groups;
mod inputs;
mod isolation;
mod kinds;
mod life;
mod lifecycle;
mod patches;
mod plan;
mod policies;
mod proxy;
mod queue;
mod quiet;
mod readiness;
mod reload;
mod repair;
mod replica;
mod replicas;
mod restraint;
mod rights;
mod rule_edits;
mod safety;
mod sandbox;
mod schema;
mod secrets;
mod security;
mod shipped;
mod shorthand;
mod soundness;
mod status;
mod traps;
mod trouble;
mod wake;
mod world;

use kubewright::telemetry::LogFormat;
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// Lists async test functions as trials named after them.
macro_rules! trials {
    ($($module:ident::$name:ident),+ $(,)?) => {
        vec![$(Trial::test(
            concat!(stringify!($module), "::", stringify!($name)),
            || { world::world().runtime.block_on($module::$name()); Ok(()) },
        )),+]
    };
}

fn main() -> ExitCode {
    kubewright::control_plane::child::run_if_asked();
    if let Ok(level) = std::env::var("KUBEWRIGHT_LOG") {
        kubewright::telemetry::start(LogFormat::Human, &level).expect("a log level");
    }
    let mut arguments = Arguments::from_args();
    // The tests mostly wait; the two cores of a small machine are for the API server.
    arguments.test_threads.get_or_insert(8);
    let trials = [
        usual_life(),
        shipped_rules(),
        rights_of_rules(),
        trouble_of_all_sorts(),
        faults(),
        long_runs(),
        ends(),
        only_reading(),
        schemas(),
        who_is_served(),
        with_processes(),
        replicas(),
    ];
    let trials = trials.into_iter().flatten().collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    world::stop();
    conclusion.exit_code()
}

/// What happens all the time.
fn usual_life() -> Vec<Trial> {
    trials![
        quiet::fifty_parents_are_quiet_for_a_minute,
        reload::what_changed_while_nobody_ran_is_as_if_it_had_changed_at_run_time,
        reload::a_rule_that_is_bad_or_missing_after_a_restart_runs_on,
        reload::a_changed_rule_goes_over_its_parents_one_by_one_and_an_edit_does_not_wait,
        reload::a_roll_out_stands_still_while_too_many_fail,
        reload::a_typo_does_not_prune_a_fleet,
        reload::an_emptied_input_does_not_prune_a_fleet_and_an_owner_may,
        reload::rules_in_config_maps_are_taken_over_and_a_bad_one_is_told,
        control_plane::workloads_come_to_life_and_go_away,
        lifecycle::a_new_parent_gets_its_children_and_its_status,
        lifecycle::an_edit_reaches_the_children_and_nothing_else_is_written,
        lifecycle::a_child_that_is_no_longer_wanted_is_pruned_and_only_that_one,
        lifecycle::the_children_of_a_deleted_parent_go,
        life::a_child_goes_when_its_time_has_come_and_nobody_asks_before,
        life::an_edit_runs_down_three_levels_and_readiness_runs_up,
        life::of_a_thousand_items_one_more_writes_one_object,
        groups::each_item_has_its_objects_and_a_change_writes_only_what_it_concerns,
        inputs::an_input_is_waited_for_and_its_changes_reach_its_readers,
        inputs::a_list_from_selected_namespaces_is_followed_item_by_item,
        inputs::parents_of_several_kinds_are_selected_by_their_labels,
        policies::children_that_no_owner_reference_reaches_go_before_their_parent,
        policies::what_a_rule_keeps_is_left_behind_without_our_marks,
        policies::children_are_updated_as_their_rule_says,
        patches::an_edit_is_made_kept_and_taken_back_and_nothing_else_is_touched,
        policies::generated_values_are_made_once,
        policies::a_rule_may_be_renamed_and_taken_away,
        policies::an_object_that_is_nobodys_is_adopted_if_the_rule_says_so,
        repair::a_deleted_child_comes_back,
        repair::an_edited_field_is_repaired_with_one_write,
        repair::foreign_fields_labels_and_ignored_values_survive,
        quiet::a_restart_writes_nothing,
        readiness::readiness_that_is_lost_is_told_and_comes_back,
        readiness::chatter_that_no_rule_reads_is_no_news,
        events::what_is_made_and_taken_away_is_told_in_one_event_per_pass,
        events::a_rule_without_status_tells_its_conditions,
        events::events_about_what_lives_in_no_namespace_are_in_the_default_one,
    ]
}

/// The rules that come with the program.
fn shipped_rules() -> Vec<Trial> {
    trials![
        shipped::a_labelled_namespace_gets_its_defaults_and_loses_them_with_the_label,
        shipped::a_database_runs_restores_once_and_leaves_its_password,
        shipped::a_config_map_is_copied_to_whoever_subscribed,
        shipped::a_tenants_namespaces_outlive_it_and_its_people_do_not,
        shipped::an_environment_goes_when_its_time_is_over,
        shipped::an_autoscaler_of_ours_keeps_the_number_that_it_set,
    ]
}

/// What `rbac` prints, against what the API server demands.
fn rights_of_rules() -> Vec<Trial> {
    trials![
        rights::config_sync_needs_exactly_what_is_printed,
        rights::database_needs_exactly_what_is_printed,
        rights::namespace_defaults_needs_exactly_what_is_printed,
        rights::preview_needs_exactly_what_is_printed,
        rights::tenant_needs_exactly_what_is_printed,
        rights::webapp_needs_exactly_what_is_printed,
    ]
}

/// What goes wrong, and what becomes of it.
fn trouble_of_all_sorts() -> Vec<Trial> {
    trials![
        concurrency::two_controllers_do_not_disturb_each_other,
        concurrency::five_edits_in_a_second_end_with_the_last,
        concurrency::there_and_back_is_where_it_began,
        concurrency::answers_that_are_lost_cost_nothing_but_time,
        concurrency::a_controller_that_is_cut_off_leaves_nothing_half_done,
        builtin_kinds::are_created_with_one_call_and_left_alone,
        traps::every_trap_of_the_catalogue,
        traps::a_version_that_is_gone_blocks_nothing,
        trouble::a_template_error_names_its_place_and_stops_only_its_parent,
        trouble::of_two_parents_the_first_keeps_the_child_and_the_second_says_who_has_it,
        wake::a_stripped_label_comes_back_with_one_write,
        wake::a_damaged_mark_is_noticed_and_its_repair_too,
        wake::a_status_that_we_wrote_wakes_whoever_reads_it,
        wake::a_taken_child_costs_no_request_and_is_had_when_it_is_free,
        wake::a_parent_that_comes_back_gets_new_children,
        wake::a_child_held_by_a_foreign_finalizer_is_waited_for_in_silence,
        restraint::an_invalid_child_is_sent_once,
        restraint::a_child_with_an_unknown_field_is_sent_once,
        restraint::a_held_field_is_left_to_its_holder,
        restraint::a_fight_is_slowed_down_and_shown,
        restraint::a_paused_parent_is_left_alone,
        status::a_refused_field_is_told_in_the_conditions_and_sent_once,
        status::short_conditions_get_what_they_have_a_place_for,
        status::a_list_of_conditions_without_keys_is_shared,
        status::a_status_with_defaults_comes_to_rest,
        status::a_failed_let_keeps_conditions_and_fields,
        status::a_condition_that_somebody_else_wrote_is_written_back_once,
        kinds::a_parents_kind_may_come_after_its_rule,
        kinds::a_status_field_may_come_after_its_rule,
        kinds::a_childs_kind_may_come_after_its_parent,
        kinds::a_childs_kind_may_be_forbidden,
        kinds::a_write_may_be_forbidden,
        kinds::a_childs_kind_may_go_and_come_back,
        security::no_mark_is_made_of_a_secret_value,
        security::what_a_parent_contains_never_becomes_structure,
        security::a_parent_chooses_no_namespace,
        security::a_parent_that_is_too_much_hurts_only_itself,
        security::nothing_global_and_nothing_of_kubernetes_is_adopted,
        security::forged_marks_delete_nothing_and_are_read_as_nothing,
        safety::a_name_from_a_parent_cannot_become_a_request,
        safety::a_secret_stays_out_of_conditions,
        safety::a_contested_secret_stays_out_of_events,
        secrets::planted_values_are_in_nothing_that_the_program_says,
        safety::strange_parents_are_told_what_is_wrong,
        safety::ignored_fields_are_never_taken_back,
        safety::a_new_intent_takes_nothing_from_others,
        kinds::a_rule_may_change_while_its_passes_run,
        wake::a_renamed_child_is_the_new_object,
        restraint::an_edited_service_port_is_repaired,
        restraint::a_value_that_admission_changes_is_no_drift,
        kinds::a_status_subresource_may_come_after_its_rule,
        kinds::a_childs_namespace_may_come_after_its_parent,
        safety::a_parent_that_cannot_be_read_is_told_so,
        safety::a_child_is_no_parent_of_its_own_rule,
        events::a_refusal_is_told_once_and_counted_up_by_whoever_comes_after,
        events::a_contested_field_is_told_once_with_both_values_and_its_manager,
        events::a_mistake_and_a_lost_child_are_told,
        events::without_the_right_to_tell_everything_else_goes_on,
    ]
}

/// What networks, servers and our own process do on bad days.
fn faults() -> Vec<Trial> {
    trials![
        faults::a_slow_server_costs_nothing_but_time,
        faults::a_server_that_asks_to_wait_is_not_pressed,
        faults::bursts_of_server_errors_are_survived,
        faults::requests_that_are_cut_are_sent_again,
        faults::answers_that_are_lost_or_cut_are_made_up_for,
        faults::answers_that_are_half_there_are_no_answers,
        faults::requests_that_are_never_answered_are_given_up,
        faults::watches_that_end_are_begun_again,
        faults::watches_that_are_too_old_or_garbled_lose_nothing,
        faults::everything_at_once_is_survived,
        faults::crashes_of_the_api_server_and_its_store_lose_and_double_nothing,
        faults::a_half_open_watch_is_noticed_and_what_happened_meanwhile_is_made_up_for,
        faults::a_process_that_is_killed_at_any_moment_leaves_nothing_half_done,
        faults::nothing_that_is_kept_for_a_parent_outlives_it,
    ]
}

/// What takes long: only if asked for (`--ignored`).
fn long_runs() -> Vec<Trial> {
    let long = trials![faults::memory_stays_as_it_is_while_parents_come_and_go];
    long.into_iter().map(|trial| trial.with_ignored_flag(true)).collect()
}

/// How parents, rules, kinds and rights end, and what is left then.
fn ends() -> Vec<Trial> {
    trials![
        deletion::what_a_parent_that_was_forced_away_left_behind_goes,
        deletion::of_too_many_parents_that_are_gone_nothing_is_deleted,
        deletion::the_namespace_of_a_parent_goes_and_its_children_everywhere_with_it,
        deletion::what_kubernetes_copies_our_marks_to_is_no_child,
        deletion::two_parents_of_different_kinds_may_have_one_name,
        deletion::a_parent_that_is_made_anew_at_once_has_its_own_children,
        deletion::a_child_that_takes_its_time_is_waited_for_in_silence,
        deletion::the_deletion_of_the_top_runs_down_every_level,
        deletion::a_parent_that_its_rule_no_longer_reaches_can_go,
        isolation::a_parents_kind_may_go_and_come_back,
        isolation::a_parents_kind_may_be_upgraded,
        isolation::a_missing_right_is_told_by_who_needs_it_and_missed_by_nobody_else,
        isolation::a_broken_api_group_hurts_only_who_needs_it,
        rule_edits::what_an_edit_makes_unwanted_goes_at_once,
        rule_edits::what_an_edit_made_unwanted_goes_with_the_next_start,
    ]
}

/// Commands that read the live state and write nothing.
fn only_reading() -> Vec<Trial> {
    trials![
        plan::of_a_fresh_cluster_everything_is_created_and_then_nothing_changes,
        plan::an_edited_template_is_exactly_that_change_with_its_line,
        plan::a_hand_edit_and_a_foreign_object_are_told_with_who_did_it,
        plan::the_program_says_by_its_exit_code_whether_anything_would_change,
        plan::values_of_secrets_are_in_no_output,
        plan::a_rule_that_reveals_secrets_does_not_reveal_them_in_plans,
        plan::updates_deletions_recreations_and_edits_are_told_apart,
        plan::a_kind_that_is_not_served_is_named_and_holds_up_only_its_own_objects,
        plan::a_missing_right_is_named_with_its_verb_and_resource,
        explain::a_ready_parent_a_hand_edit_and_a_foreign_object,
        explain::how_far_a_deletion_is,
        explain::why_a_rule_is_not_for_a_parent_and_what_waits_for_what,
    ]
}

/// Who is served when there is more to do than can be done at once.
fn who_is_served() -> Vec<Trial> {
    trials![
        queue::a_webhook_that_hangs_holds_up_nothing_but_its_kind,
        queue::a_child_that_flaps_is_looked_at_a_few_times_a_second,
        queue::an_edit_goes_before_hundreds_that_wait_whenever_it_is_made,
    ]
}

/// What is known of kinds, against the server's own word.
fn schemas() -> Vec<Trial> {
    trials![
        schema::schema_is_fresh,
        schema::nothing_is_found_in_what_the_server_accepts,
        schema::no_finding_in_thousands_of_changed_objects_is_false,
        schema::what_is_found_the_server_refuses_or_does_not_keep,
        schema::defaults_are_those_of_the_server,
        shorthand::the_server_takes_the_crd_and_a_refresh_changes_nothing,
        shorthand::what_the_schema_says_is_what_the_server_accepts,
        shorthand::whatever_compiles_is_accepted,
        shorthand::defaults_appear,
        shorthand::what_is_immutable_stays,
        shorthand::a_status_has_its_fields_and_several_writers_of_conditions,
    ]
}

/// The program as pods run it.
fn replicas() -> Vec<Trial> {
    trials![
        replicas::a_process_tells_how_it_is_and_stops_when_asked,
        replicas::a_killed_leader_is_replaced_within_its_lease,
        replicas::a_leader_that_wakes_past_its_lease_does_no_harm,
        replicas::a_leader_that_is_stopped_hands_over,
        replicas::a_foreign_holder_is_respected_for_its_time,
        replicas::the_shards_of_a_killed_replica_go_to_the_others,
        replicas::another_number_of_shards_waits_for_the_end_of_the_last,
    ]
}

/// Tests that start processes of their own.
fn with_processes() -> Vec<Trial> {
    let blocking: [(&str, fn()); 11] = [
        ("chart::it_renders_as_expected", chart::it_renders_as_expected),
        ("chart::wrong_values_are_refused_and_named", chart::wrong_values_are_refused_and_named),
        (
            "chart::files_of_others_are_put_in_where_they_are",
            chart::files_of_others_are_put_in_where_they_are,
        ),
        (
            "chart::a_release_lives_and_goes_and_takes_no_object_along",
            chart::a_release_lives_and_goes_and_takes_no_object_along,
        ),
        ("chart::only_the_holder_of_the_lease_writes", chart::only_the_holder_of_the_lease_writes),
        (
            "control_plane::no_server_outlives_a_killed_parent",
            control_plane::no_server_outlives_a_killed_parent,
        ),
        ("dev::a_hang_up_leaves_nothing_behind", dev::a_hang_up_leaves_nothing_behind),
        (
            "dev::once_is_done_when_parents_of_any_scope_are_ready",
            dev::once_is_done_when_parents_of_any_scope_are_ready,
        ),
        (
            "dev::once_says_which_example_cannot_be_installed",
            dev::once_says_which_example_cannot_be_installed,
        ),
        ("dev::the_tutorial_shows_what_dev_prints", dev::the_tutorial_shows_what_dev_prints),
        (
            "dev::plan_and_explain_agree_with_dev_about_the_tutorial",
            dev::plan_and_explain_agree_with_dev_about_the_tutorial,
        ),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    blocking.map(trial).into()
}
