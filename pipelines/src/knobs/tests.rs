use super::*;

fn one(text: &str) -> Setting {
    let mut settings = Setting::parse(text).unwrap();
    assert_eq!(settings.len(), 1, "{text}");
    settings.remove(0)
}

fn message(text: &str) -> String {
    Setting::parse(text).unwrap_err().to_string()
}

#[test]
fn index_is_the_knob() {
    for (index, row) in KNOBS.iter().enumerate() {
        assert_eq!(row.knob as usize, index, "{}", row.name);
        assert_eq!(row.knob.row().name, row.name);
    }
}

#[test]
fn names_are_unique_whatever_their_case() {
    let names: std::collections::BTreeSet<_> =
        KNOBS.iter().map(|row| row.name.to_ascii_lowercase()).collect();
    assert_eq!(names.len(), KNOBS.len());
}

#[test]
fn numbers_are_the_sources() {
    let numbers: Vec<_> = KNOBS.iter().filter_map(|row| row.number).collect();
    assert_eq!(numbers, [210, 235, 257, 298, 402, 456, 464, 474, 487, 487, 487, 808, 843, 844]);
}

#[test]
fn defaults_are_of_the_knobs_kind_and_reach_is_in_the_table() {
    for row in &KNOBS {
        if let Some(value) = row.default.value() {
            assert!(row.kind.parse(&value.to_string()).is_some(), "{}", row.name);
        }
        if let Reach::Phases(numbers) = row.reach {
            assert!(numbers.iter().all(|&number| usize::from(number) < crate::table::PHASE_COUNT));
        }
    }
}

#[test]
fn a_name_ignores_case_and_a_bare_one_is_yes() {
    assert_eq!(one("knob235"), Setting { knob: Knob::Knob235, value: Value::Bool(true) });
    assert_eq!(one("KNOB235=off"), Setting { knob: Knob::Knob235, value: Value::Bool(false) });
    assert_eq!(one("ENABLEGVNCSE = 0").value, Value::Bool(false));
    assert_eq!(one("--OPT-LEVEL=1").value, Value::Int(1));
}

#[test]
fn a_shared_number_sets_every_gate() {
    let knobs: Vec<_> = Setting::parse("487=1").unwrap().into_iter().map(|setting| setting.knob).collect();
    assert_eq!(knobs, [Knob::ForceLateCommoning, Knob::LoopMakeSingleEntry, Knob::OriCopyProp]);
}

#[test]
fn values_are_typed() {
    assert_eq!(one("474=0.5").value, Value::Float(0.5));
    assert_eq!(one("464=0x10").value, Value::Int(16));
    assert_eq!(one("464=-1").value, Value::Int(-1));
    assert_eq!(one("808=0x10").value, Value::Count(16));
    assert_eq!(one("402=6").value, Value::Mode(6));
    assert_eq!(one("DUMPIR=a=b").value, Value::Text("a=b".to_owned()));
}

#[test]
fn unknown_name_gives_the_nearest() {
    assert_eq!(
        message("EnableGvnCes=1"),
        "no knob is called `EnableGvnCes`; the nearest name is `EnableGvnCse`"
    );
    assert_eq!(message("dumpri=x"), "no knob is called `dumpri`; the nearest name is `DUMPIR`");
    assert!(matches!(Setting::parse("=1"), Err(KnobError::UnknownName { .. })));
}

#[test]
fn unknown_number_gives_the_nearest() {
    assert_eq!(message("488=1"), "no knob has the number 488; the nearest is 487");
    assert_eq!(message("99999999999=1"), "no knob has the number 99999999999; the nearest is 844");
}

#[test]
fn wrong_kind_names_the_kind() {
    assert_eq!(
        message("235=2"),
        "`2` is no value for `Knob235`, a knob of kind bool; expected `true` or `false`"
    );
    assert_eq!(
        message("402=7"),
        "`7` is no value for `EnableGvnCseMode`, a knob of kind mode; expected 0 to 6"
    );
    assert_eq!(
        message("BranchRounds=-1"),
        "`-1` is no value for `BranchRounds`, a knob of kind count; expected 0 to 4294967295"
    );
    for wrong in [
        "BranchHops=4294967296",
        "BranchHops=many",
        "464=1.5",
        "464=",
        "464=0x-1",
        "474=nan",
        "474=x",
        "DUMPIR=",
        "235=",
    ] {
        assert!(matches!(Setting::parse(wrong), Err(KnobError::WrongKind { .. })), "{wrong}");
    }
}

#[test]
fn bare_name_is_for_bool_only() {
    assert_eq!(
        message("464"),
        "`Knob464` is a knob of kind int and needs a value: `Knob464=VALUE`, a whole number"
    );
}

#[test]
fn the_last_setting_stands_and_others_have_defaults() {
    let mut knobs = Knobs::default();
    assert_eq!(knobs.value(Knob::Knob474), Some(Value::Float(0.25)));
    assert!(knobs.is_on(Knob::EnableGvnCse) && !knobs.is_on(Knob::Knob235));
    knobs.set(one("464=3"));
    knobs.set(one("464=5"));
    assert_eq!(knobs.value(Knob::Knob464), Some(Value::Int(5)));
    assert_eq!(knobs.value(Knob::EnableShrinkWrap), Some(Value::Mode(0)));
    assert_eq!(knobs.settings().count(), 1);
}
