"""Spark, with the catalog of lance-spark."""

from __future__ import annotations

import pathlib

import pytest

import recipes

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "local" / "clients" / "spark"


@pytest.fixture
def spark(installed, tmp_path, wire, space):
    """Runs a program with PySpark, in a folder with the jars.

    ADD COLUMNS and UPDATE COLUMNS with rows do not use the credentials that the service gives: the
    options of the storage are in the environment, too.
    """
    installed("spark")
    jars = recipes.run([str(ROOT / "scripts" / "jars.sh"), "local/clients/spark"]).strip()
    (tmp_path / "jars").symlink_to(jars)

    options = wire.post(f"/v1/table/{space}$t/declare", {}).json.get("storage_options", {})
    storage = {name.upper(): value for name, value in options.items()}

    def run(program: pathlib.Path, *arguments: str) -> str:
        quiet = storage | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false pyspark-shell"}
        return recipes.run([str(ROOT / "scripts" / "pyspark.sh"), str(program), *arguments], cwd=tmp_path, env=quiet)

    return run


def test_recipe(spark, server, tmp_path):
    program = tmp_path / "example.py"
    program.write_text(recipes.program("spark", "python", server))
    recipes.check("spark", spark(program))


def test_the_page_names_what_is_tested():
    recipes.same_dependency("spark", FOLDER / "pom.xml")
    assert f"pip install {(FOLDER / 'requirements.txt').read_text().split()[0]}\n" in recipes.page("spark")


def test_suite(spark, server, wire, managed_space):
    assert spark(FOLDER / "suite.py", server.url, server.token, managed_space).strip() == "done"

    # The service sees what Spark did to a table whose versions it manages.
    table = f"/v1/table/{managed_space}$points"
    assert wire.post(f"{table}/count_rows", {}).json == 101
    indices = wire.post(f"{table}/index/list", {}).json["indexes"]
    assert sorted((i["index_name"], i["index_type"]) for i in indices) == [("ids", "BTREE"), ("names", "FTS")]
    versions = wire.post(f"{table}/version/list?descending=true", {}).json["versions"]
    assert len(versions) > 5
    assert versions[0]["version"] == wire.post(f"{table}/describe?load_detailed_metadata=true", {}).json["version"]
