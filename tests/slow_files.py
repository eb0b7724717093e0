"""Test files that take long: ``-m "not slow"`` leaves them out; a whole run begins with them."""

from __future__ import annotations

__all__ = ["SLOW"]

#: The longest first: started last, it would be waited for alone.
SLOW = (
    "test_spark_answer.py",
    "test_spark_cluster.py",
    "test_real_texts.py",
    "test_state_cassandra.py",
    "test_docs_examples.py",
    "test_serve_safety.py",
    "test_serve_faults.py",
    "test_records_index.py",
    "test_experiments_page.py",
    "test_report_page_found.py",
    "test_parity_commands.py",
    "test_records_hand_over.py",
    "test_state_output_folder.py",
    "test_engine_seconds.py",
    "test_engine_bounded.py",
    "test_cli_process.py",
    "test_engine_resume.py",
    "test_without_jit.py",
    "test_cli_warmup.py",
    "test_report_page_reading.py",
    "test_engine_warming.py",
    "test_fuzz_short.py",
    "test_inspect_recluster.py",
    "test_index_durable.py",
    "test_engine_damage.py",
    "test_report_page_looks.py",
    "test_synth_text.py",
    "test_engine_shards.py",
    "test_cli_big.py",
    "test_passages_resume.py",
    "test_report_page_hostile.py",
    "test_report_page_list.py",
    "test_cli_same_bytes.py",
    "test_serve_groups.py",
    "test_engine_full_disk.py",
    "test_engine_definition.py",
    "test_text_kernels.py",
    "test_site.py",
)
