"""Plan the programs, and make the client's keys and the server's."""

from benchmarks.suite.transciphering.programs import programs
from benchmarks.suite.transciphering.workload import asked

if __name__ == "__main__":
    workload = asked()
    planned = programs(workload.enciphered)
    # It holds all programs before it.
    planned.total.save(workload.file("public_keys", "program"))
    workload.save_keys(planned.keys)
