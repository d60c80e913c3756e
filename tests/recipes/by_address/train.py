"""Any program: what it is given is looked at."""
import report

report.work()
