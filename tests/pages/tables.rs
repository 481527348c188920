//! Tests of the import of CSV files (rules: records#csv-files).

use std::time::{Duration, Instant};

use jiff::ToSpan as _;
use jiff::civil::date;
use serde_json::{Value, json};

use test_support::{Api, App, on_both};

const FLATS: &str = "\u{feff}External ID,Name,Time zone,country,Property \
    group,tags,check_in_time,wifi_name,Colour\na1,Flat 1,Europe/Madrid,ES,North,sea; \
    Quiet,15:00,Casa,blue\na2,Flat 2,Europe/Madrid,ES,,,,,\n";

async fn import(api: &Api, kind: &str, csv: &str, more: Value) -> test_support::ApiResponse {
    let mut body = json!({ "kind": kind, "csv": csv });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    api.post("/records/import", body).await
}

/// Returns how many records the import added, changed and left unchanged.
fn counts(imported: &Value) -> [u64; 3] {
    ["added", "changed", "unchanged"].map(|name| imported[name].as_u64().unwrap())
}

/// Returns line, column and message of each error of a dry run.
fn errors(imported: &Value) -> Vec<(u64, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    imported["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| {
            (
                error["line"].as_u64().unwrap(),
                text(&error["column"]),
                text(&error["message"]),
            )
        })
        .collect()
}

async fn named(api: &Api) {
    let records: Vec<Value> = [
        ("property_group", "North"),
        ("tag", "Sea"),
        ("tag", "Quiet"),
    ]
    .iter()
    .map(|(kind, name)| {
        json!({
            "kind": kind,
            "id": test_support::new_id(),
            "data": { "name": name },
        })
    })
    .collect();
    api.post("/records", json!({ "records": records }))
        .await
        .data();
}

on_both!(a_file_imported_twice_changes_nothing);
async fn a_file_imported_twice_changes_nothing(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    named(&api).await;
    let dry_run = import(&api, "property", FLATS, json!({ "dryRun": true }))
        .await
        .data();
    assert_eq!(counts(&dry_run), [2, 0, 0]);
    assert_eq!(
        api.get("/properties").await.data(),
        json!([]),
        "a dry run writes nothing"
    );
    let imported = import(&api, "property", FLATS, json!({})).await.data();
    assert_eq!(
        (counts(&imported), &imported["ignoredColumns"]),
        ([2, 0, 0], &json!(["Colour"]))
    );
    let flats = api.get("/properties").await.data();
    let first = flats
        .as_array()
        .unwrap()
        .iter()
        .find(|flat| flat["name"] == "Flat 1")
        .unwrap()
        .clone();
    assert_eq!(
        (&first["origin"], &first["checkInTime"], &first["wifiName"]),
        (&json!("manual"), &json!("15:00"), &json!("Casa"))
    );
    assert_eq!(
        (
            first["tagIds"].as_array().unwrap().len(),
            first["propertyGroupId"].is_string()
        ),
        (2, true)
    );
    app.clock.advance(Duration::from_secs(1));
    assert_eq!(
        counts(&import(&api, "property", FLATS, json!({})).await.data()),
        [0, 0, 2]
    );
    assert_eq!(api.get("/properties").await.data(), flats);
    // If a cell is empty or a column is missing, the field does not change.
    let fewer = "external_id;name;wifiName\na1;Flat One;\na2;Flat 2;\n";
    assert_eq!(
        counts(&import(&api, "property", fewer, json!({})).await.data()),
        [0, 1, 1]
    );
    let flats = api.get("/properties").await.data();
    assert!(
        flats
            .as_array()
            .unwrap()
            .iter()
            .any(|flat| flat["name"] == "Flat One" && flat["wifiName"] == "Casa"),
        "{flats}"
    );
}

on_both!(a_file_with_errors_names_them_and_writes_nothing);
async fn a_file_with_errors_names_them_and_writes_nothing(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let csv = "external_id,property,check in,check_out,Guest first name,status,adults\n\
        r1,Nowhere,2026-12-11,2026-12-15,Ada,confirmed,2\n\
        r2,,11/12/2026,2026-12-15,Ada,gone,two\n\
        ,,2026-12-11,2026-12-15,,,\n\
        r4,,2026-12-11,,,,\n\
        r1,,2026-12-11,2026-12-15,Ada,,\n\
        r6,,2026-12-15,2026-12-11,Ada,,\n\
        r7,,2026-12-11,2026-12-12,Ada,,\n";
    let dry_run = import(&api, "reservation", csv, json!({ "dryRun": true }))
        .await
        .data();
    let found = errors(&dry_run);
    let places: Vec<(u64, &str)> = found
        .iter()
        .map(|(line, column, _)| (*line, column.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            (2, "property"),
            (3, "check in"),
            (3, "status"),
            (3, "adults"),
            (4, "external_id"),
            (5, "check_out"),
            (6, "external_id"),
            (7, "check_out")
        ]
    );
    assert!(
        found[6].2.contains("line 2") && found[6].2.contains("line 6"),
        "{found:?}"
    );
    assert_eq!(counts(&dry_run), [1, 0, 0]);
    let refused = import(&api, "reservation", csv, json!({})).await.error(400);
    assert_eq!(
        refused["details"]["issues"][0]["path"],
        json!(["csv", 2, "property"])
    );
    assert_eq!(api.get("/reservations").await.data(), json!([]));
    for (header, column) in [("external_id,name,Name", "Name"), ("name", "external_id")] {
        let dry_run = import(
            &api,
            "tag",
            &format!("{header}\n1,2,3\n"),
            json!({ "dryRun": true }),
        )
        .await
        .data();
        assert_eq!(errors(&dry_run)[0].1, column, "{header}");
    }
    let wrong = import(
        &api,
        "tag",
        "external_id,name\n1,Sea\n",
        json!({ "dateFormat": "%d/%m" }),
    )
    .await;
    assert_eq!(wrong.issues(), ["dateFormat"]);
}

on_both!(columns_and_dates_can_be_mapped);
async fn columns_and_dates_can_be_mapped(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let home = org.property(None, &[]).await;
    let csv = "external_id,Hu\u{e9}sped,Alojamiento,check_in,check_out,booked \
        at\nr1,Ada,Flat,11/12/2026,15/12/2026,02/11/2026 10:00\n";
    let more = json!({
        "columns": { "Hu\u{e9}sped": "guest.firstName", "Alojamiento": "propertyId" },
        "dateFormat": "%d/%m/%Y",
    });
    assert_eq!(
        counts(&import(&api, "reservation", csv, more).await.data()),
        [1, 0, 0]
    );
    let stay = api.get("/reservations").await.data()[0].clone();
    assert_eq!(
        (
            &stay["guest"]["firstName"],
            &stay["checkIn"],
            &stay["propertyId"],
            &stay["status"]
        ),
        (
            &json!("Ada"),
            &json!("2026-12-11"),
            &json!(home),
            &json!("confirmed")
        )
    );
    assert_eq!(stay["bookedAt"], "2026-11-02T10:00:00.000Z");
    // A row may name a flat of the platform by the flat's id. The import does not change that
    // flat.
    let theirs = import(
        &api,
        "reservation",
        &csv.replace("Flat", &home.to_string()).replace("r1", "r2"),
        json!({ "columns": { "Alojamiento": "propertyId" }, "dateFormat": "%d/%m/%Y" }),
    )
    .await
    .data();
    assert_eq!(theirs["ignoredColumns"], json!(["Hu\u{e9}sped"]));
}

on_both!(columns_of_custom_fields_fill_a_flats_values);
async fn columns_of_custom_fields_fill_a_flats_values(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let [code, floor] = [test_support::new_id(), test_support::new_id()];
    let field = |id: uuid::Uuid, name: &str| {
        json!({
            "kind": "custom_field",
            "id": id,
            "data": { "name": name },
        })
    };
    api.post(
        "/records",
        json!({ "records": [field(code, "Door code"), field(floor, "Floor")] }),
    )
    .await
    .data();
    let csv = "external_id,name,timezone,country,door_code,custom.Floor\nf1,Flat \
        1,Europe/Madrid,ES,4711,2\nf2,Flat 2,Europe/Madrid,ES,,3\n";
    let imported = import(&api, "property", csv, json!({})).await.data();
    assert_eq!(
        (counts(&imported), &imported["ignoredColumns"]),
        ([2, 0, 0], &json!([]))
    );
    let values = async || {
        let flats = api.get("/properties").await.data();
        let mut values: Vec<Value> = flats
            .as_array()
            .unwrap()
            .iter()
            .map(|flat| flat["customFields"].clone())
            .collect();
        values.sort_by_key(ToString::to_string);
        values
    };
    let mut expected = vec![
        json!({ code.to_string(): "4711", floor.to_string(): "2" }),
        json!({ floor.to_string(): "3" }),
    ];
    expected.sort_by_key(ToString::to_string);
    assert_eq!(values().await, expected);
    assert_eq!(
        counts(&import(&api, "property", csv, json!({})).await.data()),
        [0, 0, 2]
    );
    // If a cell is empty, the custom field does not change.
    let fewer = "external_id,custom.floor,custom.door code\nf1,,4712\n";
    assert_eq!(
        counts(&import(&api, "property", fewer, json!({})).await.data()),
        [0, 1, 0]
    );
    assert!(
        values()
            .await
            .contains(&json!({ code.to_string(): "4712", floor.to_string(): "2" }))
    );
    // Two custom fields have the same name. The import therefore refuses a column with that
    // name, and asks for a column with the id of the field.
    api.post(
        "/records",
        json!({ "records": [field(test_support::new_id(), "floor")] }),
    )
    .await
    .data();
    let dry_run = import(
        &api,
        "property",
        "external_id,Floor\nf1,4\n",
        json!({ "dryRun": true }),
    )
    .await
    .data();
    assert!(
        errors(&dry_run)[0]
            .2
            .contains(&format!("customFields.{floor}")),
        "{dry_run}"
    );
}

on_both!(the_columns_of_the_guide_to_exports_are_imported);
/// The guide `import-exports.md` lists the columns of the CSV files that other systems export. The
/// test imports files with these columns, and runs each command of the guide twice.
async fn the_columns_of_the_guide_to_exports_are_imported(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    org.property(None, &[]).await;
    let guide = include_str!("../../docs/how-to/import-exports.md");
    let commands: Vec<&str> = guide
        .split("```console")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(commands.len(), 5);
    for (number, command) in commands.iter().enumerate() {
        let pairs = command
            .split("--column \"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().split_once('=').unwrap());
        let columns: std::collections::BTreeMap<&str, &str> = pairs.collect();
        let cell = |field: &str| match field {
            "external_id" => format!("b{number}"),
            "guest.firstName" | "guest.lastName" => "Ada".to_owned(),
            "guest.email" => "ada@example.com".to_owned(),
            "guest.phone" => "+34600000000".to_owned(),
            "channel" => "airbnb".to_owned(),
            "checkIn" => "2026-12-11".to_owned(),
            "checkOut" => "2026-12-15".to_owned(),
            "bookedAt" => "2026-11-02".to_owned(),
            "propertyId" => "Flat".to_owned(),
            other => panic!("{other} has no example"),
        };
        let mut cells: Vec<(&str, String)> = columns
            .iter()
            .map(|(header, field)| (*header, cell(field)))
            .collect();
        // The import recognizes each of these headers as the name of a field. The test adds the
        // headers of fields that the export lacks.
        for (header, field) in [
            ("Check-in", "checkIn"),
            ("Check out", "checkOut"),
            ("Property", "propertyId"),
            ("Channel", "channel"),
        ] {
            if !columns.values().any(|known| *known == field) {
                cells.push((header, cell(field)));
            }
        }
        let (headers, values): (Vec<&str>, Vec<String>) = cells.into_iter().unzip();
        let csv = format!("{}\n{}\n", headers.join(","), values.join(","));
        let imported = import(&api, "reservation", &csv, json!({ "columns": columns }))
            .await
            .data();
        assert_eq!(
            (counts(&imported), &imported["ignoredColumns"]),
            ([1, 0, 0], &json!([])),
            "{command}"
        );
        let again = import(&api, "reservation", &csv, json!({ "columns": columns }))
            .await
            .data();
        assert_eq!(counts(&again), [0, 0, 1], "{command}");
    }
}

on_both!(ten_thousand_lines_are_imported_in_time);
async fn ten_thousand_lines_are_imported_in_time(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let lines: Vec<_> = (0..10_000)
        .map(|number| format!("f{number},Flat {number},Europe/Madrid,ES"))
        .collect();
    let csv = format!("external_id,name,timezone,country\n{}\n", lines.join("\n"));
    let start = Instant::now();
    assert_eq!(
        counts(&import(&api, "property", &csv, json!({})).await.data()),
        [10_000, 0, 0]
    );
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    let longer = format!("{csv}more,Flat,Europe/Madrid,ES\n");
    import(&api, "property", &longer, json!({}))
        .await
        .error(400);
}

on_both!(ten_thousand_stays_are_imported_at_once_and_only_once);
async fn ten_thousand_stays_are_imported_at_once_and_only_once(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flats: Vec<_> = (0..100)
        .map(|number| format!("f{number},Flat {number},Europe/Madrid,ES"))
        .collect();
    let csv = format!("external_id,name,timezone,country\n{}\n", flats.join("\n"));
    import(&api, "property", &csv, json!({})).await.data();
    let stay = |number: i64| {
        let day = date(2027, 1, 1) + (number / 100 * 4).days();
        format!(
            "s{number},Flat {},{day},{},Ada {number},ada{number}@example.com",
            number % 100,
            day + 3.days()
        )
    };
    let stays: Vec<_> = (0..10_000).map(stay).collect();
    let csv = format!(
        "external_id,property,check_in,check_out,guest_first_name,guest_email\n{}\n",
        stays.join("\n")
    );
    for expected in [[10_000, 0, 0], [0, 0, 10_000]] {
        assert_eq!(
            counts(&import(&api, "reservation", &csv, json!({})).await.data()),
            expected
        );
    }
}
